import { DataManager, ODataV4Adaptor, Query } from "@syncfusion/ej2-data";
import { assert, headers, service, take, wholeList } from "./steps.mjs";

const managerOf = (set) =>
  new DataManager({ url: service + set, headers: [headers], adaptor: new ODataV4Adaptor(), crossDomain: true });
const [contactManager, claimManager] = ["contact", "claim"].map(managerOf);
const found = async (manager, query) => (await manager.executeQuery(query)).result;
let created;

await take({
  async list() {
    const claims = await found(claimManager, new Query().sortBy("ClaimNumber").take(3));
    assert.equal(claims.length, 3);
    return claims.map((claim) => claim.ClaimNumber);
  },
  async filter() {
    const claims = await found(claimManager, new Query().where("Total", "greaterthan", 500).where("FundingStatus", "equal", "OnHold"));
    assert.ok(claims.length && claims.every((claim) => claim.Total > 500));
    return `${claims.length} claims`;
  },
  async expand() {
    const [claim] = await found(claimManager, new Query().expand(["LineItems", "Contact"]).take(1));
    assert.ok(claim.LineItems.length && claim.Contact.LastName);
    return `${claim.LineItems.length} lines of ${claim.Contact.LastName}`;
  },
  async pages() {
    const records = [];
    for (let page = 1, total = 1; records.length < total; page += 1) {
      const { result, count } = await contactManager.executeQuery(new Query().page(page, 150).requiresCount());
      records.push(...result);
      total = count;
    }
    return wholeList(records);
  },
  async create() {
    created = await contactManager.insert({ FirstName: "Ada", LastName: "Byron" });
    assert.equal(created.LastName, "Byron");
    return created.ContactGuid;
  },
  async change() {
    await contactManager.update("ContactGuid", { ContactGuid: created.ContactGuid, LastName: "Lovelace" });
    const [read] = await found(contactManager, new Query().where("ContactGuid", "equal", created.ContactGuid));
    assert.equal(read.LastName, "Lovelace");
    return read.LastName;
  },
  async batch() {
    const saved = await contactManager.saveChanges(
      { addedRecords: [{ FirstName: "In", LastName: "Batch" }], changedRecords: [{ ...created, LastName: "King" }], deletedRecords: [] },
      "ContactGuid",
    );
    assert.equal(saved.addedRecords[0].LastName, "Batch");
    return `${saved.addedRecords.length} added, ${saved.changedRecords.length} changed`;
  },
});
