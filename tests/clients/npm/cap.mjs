// SAP CAP as the consumer of a remote service: the model is what `cds import` makes of $metadata.

import cds from "@sap/cds";
import { assert, headersOfWriter, service, take, wholeList } from "./steps.mjs";

const { SELECT, INSERT, UPDATE } = cds.ql;
cds.env.requires.records = {
  kind: "odata", model: "srv/external/records", csrf: false, credentials: { url: service.slice(0, -1), headers: headersOfWriter },
};
cds.model = cds.linked(await cds.load("srv/external/records"));
const records = await cds.connect.to("records");
const { Claim, Contact } = records.entities;
let created;

await take({
  async list() {
    const claims = await records.run(SELECT.from(Claim).columns("ClaimNumber").orderBy("ClaimNumber").limit(3));
    assert.equal(claims.length, 3);
    return claims.map((claim) => claim.ClaimNumber);
  },
  async filter() {
    const claims = await records.run(SELECT.from(Claim).where({ Total: { ">": 500 }, FundingStatus: "OnHold" }));
    assert.ok(claims.length && claims.every((claim) => claim.Total > 500));
    return `${claims.length} claims`;
  },
  async expand() {
    const [claim] = await records.run(
      SELECT.from(Claim).limit(1).columns((row) => { row.LineItems((line) => line.Quantity); row.Contact((person) => person.LastName); }),
    );
    assert.ok(claim.LineItems.length && claim.Contact.LastName);
    return `${claim.LineItems.length} lines of ${claim.Contact.LastName}`;
  },
  async pages() {
    return wholeList(await records.run(SELECT.from(Contact).limit(1000)));
  },
  async create() {
    created = await records.run(INSERT.into(Contact).entries({ FirstName: "Ada", LastName: "Byron" }));
    assert.equal(created.LastName, "Byron");
    return created.ContactGuid;
  },
  async change() {
    await records.run(UPDATE(Contact, created.ContactGuid).with({ LastName: "Lovelace" }));
    const read = await records.run(SELECT.one.from(Contact, created.ContactGuid));
    assert.equal(read.LastName, "Lovelace");
    return read.LastName;
  },
});
process.exit(); // CAP keeps its connections open
