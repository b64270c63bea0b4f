import { o } from "odata";
import { assert, headersOfWriter, service, take, wholeList } from "./steps.mjs";

const json = { ...headersOfWriter, "Content-Type": "application/json" };
const mixed = new Headers({ ...headersOfWriter, "Content-Type": "multipart/mixed" });
const api = o(service, {
  headers: json,
  batch: {
    endpoint: "$batch", boundaryPrefix: "batch_", changsetBoundaryPrefix: "changeset_",
    headers: mixed, useChangset: false, useRelativeURLs: false,
  },
});
let created;

await take({
  async list() {
    const claims = await api.get("claim").query({ $top: 3, $orderby: "ClaimNumber" });
    assert.equal(claims.length, 3);
    return claims.map((claim) => claim.ClaimNumber);
  },
  async filter() {
    const claims = await api.get("claim").query({ $filter: "Total gt 500", $select: "ClaimNumber,Total" });
    assert.ok(claims.length && claims.every((claim) => claim.Total > 500));
    return `${claims.length} claims`;
  },
  async expand() {
    const [claim] = await api.get("claim").query({ $top: 1, $expand: "LineItems,Contact($select=LastName)" });
    assert.ok(claim.LineItems.length && claim.Contact.LastName);
    return `${claim.LineItems.length} lines of ${claim.Contact.LastName}`;
  },
  async pages() {
    const records = [];
    let page = await api.get("contact").fetch();
    for (;;) {
      const answer = await page.json();
      records.push(...answer.value);
      if (!answer["@odata.nextLink"]) return wholeList(records);
      page = await o(answer["@odata.nextLink"], { headers: json }).get().fetch();
    }
  },
  async create() {
    created = await api.post("contact", { FirstName: "Ada", LastName: "Byron" }).query();
    assert.equal(created.LastName, "Byron");
    return created.ContactGuid;
  },
  async change() {
    await api.patch(`contact(${created.ContactGuid})`, { LastName: "Lovelace" }).query();
    const read = await api.get(`contact(${created.ContactGuid})`).query();
    assert.equal(read.LastName, "Lovelace");
    return read.LastName;
  },
  async batch() {
    const lists = await api.get("client").get("claim").batch({ $top: 2 });
    assert.equal(lists.map((answer) => answer.body.length).join(), "2,2");
    const made = await api.post("contact", { FirstName: "In", LastName: "Batch" }).post("contact", { FirstName: "In", LastName: "Batch" }).batch();
    assert.equal(made.map((answer) => answer.status).join(), "201,201");
    return "2 lists, 2 contacts created";
  },
});
