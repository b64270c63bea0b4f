import { FetchClient } from "@odata2ts/http-client-fetch";
import { recordsService } from "./odata2ts_records/recordsService.ts";
import { assert, headersOfWriter, service, take, wholeList } from "./steps.mjs";

const records = new recordsService(new FetchClient({ headers: headersOfWriter }), service.slice(0, -1)) /* it adds a slash of its own */;
let created;

await take({
  async list() {
    const { data } = await records.Claim().query((query, claim) => query.top(3).orderBy(claim.ClaimNumber.asc()));
    assert.equal(data.value.length, 3);
    return data.value.map((claim) => claim.ClaimNumber);
  },
  async filter() {
    const { data } = await records.Claim().query((query, claim) =>
      query.filter(claim.Total.gt(500), claim.FundingStatus.eq("OnHold")));
    assert.ok(data.value.length && data.value.every((claim) => claim.FundingStatus === "OnHold"));
    return `${data.value.length} claims`;
  },
  async expand() {
    const { data } = await records.Claim().query((query) =>
      query.top(1).expand("LineItems").expanding("Contact", (contact) => contact.select("LastName")));
    const [claim] = data.value;
    assert.ok(claim.LineItems.length && claim.Contact.LastName);
    return `${claim.LineItems.length} lines of ${claim.Contact.LastName}`;
  },
  async pages() {
    const found = [];
    for (let total = 1; found.length < total; ) {
      const { data } = await records.Contact().query((query) => query.skip(found.length).top(150).count());
      found.push(...data.value);
      total = data["@odata.count"];
    }
    return wholeList(found);
  },
  async create() {
    created = (await records.Contact().create({ FirstName: "Ada", LastName: "Byron" })).data;
    assert.equal(created.LastName, "Byron");
    return created.ContactGuid;
  },
  async change() {
    await records.Contact(created.ContactGuid).patch({ LastName: "Lovelace" });
    const { data } = await records.Contact(created.ContactGuid).query();
    assert.equal(data.LastName, "Lovelace");
    return data.LastName;
  },
});
