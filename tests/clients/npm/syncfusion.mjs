import { DataManager, ODataV4Adaptor, Query } from "@syncfusion/ej2-data";
import { assert, headersOfWriter, service, take, wholeList } from "./steps.mjs";

const managerOf = (set) =>
  new DataManager({ url: service + set, headers: [headersOfWriter], adaptor: new ODataV4Adaptor({ accept: "application/json;odata.metadata=minimal" }), crossDomain: true });
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
    created = read; // with its ETag
    return read.LastName;
  },
  async batch() {
    const added = { FirstName: "In", LastName: `Batch ${created.ContactGuid.slice(-12)}` };
    await contactManager.saveChanges(
      { addedRecords: [added], changedRecords: [{ ...created, LastName: added.LastName }], deletedRecords: [] },
      "ContactGuid",
    ); // which tells nothing of the answers
    const stored = await found(contactManager, new Query().where("LastName", "equal", added.LastName));
    assert.equal(stored.length, 2);
    return "1 added, 1 changed";
  },
});
