import { DataSource, ODataContext, ODataStore } from "devextreme/common/data";
import { assert, headersOfWriter, service, take, wholeList } from "./steps.mjs";

const beforeSend = (request) => Object.assign(request.headers, headersOfWriter);
const stores = new ODataContext({
  url: service, version: 4, beforeSend,
  entities: {
    Contact: { name: "contact", key: "ContactGuid", keyType: "Guid" },
    Claim: { name: "claim", key: "ClaimGuid", keyType: "Guid", fieldTypes: { Total: "Decimal" } },
  },
});
let created;

await take({
  async list() {
    const source = new DataSource({ store: stores.Claim, pageSize: 3, sort: "ClaimNumber", requireTotalCount: true });
    const claims = await source.load();
    assert.equal(claims.length, 3);
    return `${claims.map((claim) => claim.ClaimNumber)} of ${source.totalCount()}`;
  },
  async filter() {
    const claims = await stores.Claim.load({ filter: [["Total", ">", 500], "and", ["FundingStatus", "=", "OnHold"]] });
    assert.ok(claims.length && claims.every((claim) => claim.Total > 500));
    return `${claims.length} claims`;
  },
  async expand() {
    const [claim] = await stores.Claim.load({ take: 1, expand: ["LineItems", "Contact"], select: ["Total", "Contact.LastName", "LineItems"] });
    assert.ok(claim.LineItems.length && claim.Contact.LastName);
    return `${claim.LineItems.length} lines of ${claim.Contact.LastName}`;
  },
  async pages() {
    return wholeList((await stores.Contact.load()).map(({ ContactGuid }) => ({ ContactGuid: ContactGuid.valueOf() })));
  },
  async create() {
    created = await stores.Contact.insert({ FirstName: "Ada", LastName: "Byron" });
    assert.equal(created.LastName, "Byron");
    return created.ContactGuid.valueOf();
  },
  async change() {
    await stores.Contact.update(created.ContactGuid, { LastName: "Lovelace" });
    const read = await stores.Contact.byKey(created.ContactGuid);
    assert.equal(read.LastName, "Lovelace");
    return read.LastName;
  },
});
