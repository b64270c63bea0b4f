import { OData } from "@odata/client";
import { assert, headersOfWriter, service, take, wholeList } from "./steps.mjs";

const client = OData.New4({ serviceEndpoint: service, commonHeaders: headersOfWriter });
const [contactSet, claimSet] = ["contact", "claim"].map((name) => client.getEntitySet(name));
let created;

await take({
  async list() {
    const claims = await claimSet.query(client.newOptions().top(3).orderby("ClaimNumber"));
    assert.equal(claims.length, 3);
    return claims.map((claim) => claim.ClaimNumber);
  },
  async filter() {
    const claims = await claimSet.query(client.newFilter().field("Total").gt(500));
    assert.ok(claims.length && claims.every((claim) => claim.Total > 500));
    return `${claims.length} claims`;
  },
  async expand() {
    const [claim] = await claimSet.query(client.newOptions().top(1).expand(["LineItems", "Contact"]));
    assert.ok(claim.LineItems.length && claim.Contact.LastName);
    return `${claim.LineItems.length} lines of ${claim.Contact.LastName}`;
  },
  async pages() {
    const records = [];
    const total = await contactSet.count();
    while (records.length < total) {
      records.push(...(await contactSet.query(client.newOptions().top(150).skip(records.length))));
    }
    return wholeList(records);
  },
  async create() {
    created = await contactSet.create({ FirstName: "Ada", LastName: "Byron" });
    assert.equal(created.LastName, "Byron");
    return created.ContactGuid;
  },
  async change() {
    await contactSet.update(created.ContactGuid, { LastName: "Lovelace" });
    const read = await contactSet.retrieve(created.ContactGuid);
    assert.equal(read.LastName, "Lovelace");
    return read.LastName;
  },
  async batch() {
    const answers = await client.execBatchRequests([
      client.newBatchRequest({ collection: "contact", method: "GET", params: client.newOptions().top(2) }),
      client.newBatchRequest({
        collection: "contact", method: "POST", entity: { FirstName: "In", LastName: "Batch" }, withContentLength: true,
      }),
    ]);
    const [list, made] = await Promise.all(answers.map((answer) => answer.json()));
    assert.equal(list.value.length, 2);
    assert.equal(made.LastName, "Batch");
    return answers.map((answer) => answer.status);
  },
});
