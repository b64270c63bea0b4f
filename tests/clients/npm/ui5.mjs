// A table of contacts bound to an OData V4 model in its default mode ($batch, group $auto), and the steps of every client.

import { assert, contacts, headers, service, take } from "/steps.mjs";

const names = [
  "sap/ui/model/odata/v4/ODataModel", "sap/ui/model/Sorter", "sap/ui/model/Filter", "sap/m/Table", "sap/m/Column",
  "sap/m/ColumnListItem", "sap/m/Text", "sap/m/Input",
];
await new Promise((resolve) => (window.sap?.ui?.getCore ? resolve() : window.addEventListener("load", resolve)));
const [ODataModel, Sorter, Filter, Table, Column, ColumnListItem, Text, Input] = await new Promise((resolve) =>
  sap.ui.require(names, (...modules) => resolve(modules)));

const model = new ODataModel({ serviceUrl: service, httpHeaders: headers, autoExpandSelect: true, operationMode: "Server" });
const messages = [];

function tableOf(path, columns, parameters = {}) {
  const table = new Table({
    growing: true, growingThreshold: 100,
    columns: Object.keys(columns).map((header) => new Column({ header: new Text({ text: header }) })),
  });
  table.setModel(model);
  table.bindItems({ path, parameters, template: new ColumnListItem({ cells: Object.values(columns) }) });
  table.placeAt(document.body);
  return table;
}

const people = tableOf("/Contact", {
  "First name": new Text({ text: "{FirstName}" }),
  "Last name": new Input({ value: "{LastName}" }),
  Suburb: new Text({ text: "{Address/Suburb}" }),
}, { $count: true });
const claims = tableOf("/Claim", {
  Number: new Text({ text: "{ClaimNumber}" }),
  Total: new Text({ text: "{Total}" }),
  Participant: new Text({ text: "{Contact/LastName}" }),
}, { $expand: { LineItems: { $select: "Quantity" } } });
const rows = people.getBinding("items");
let created;

await take({
  async list() {
    const found = await rows.requestContexts(0, 100);
    assert.equal(found.length, 100);
    return `${found.length} of ${rows.getCount()}`;
  },
  async sort() {
    rows.sort(new Sorter("LastName", true));
    const names = (await rows.requestContexts(0, 20)).map((row) => row.getProperty("LastName"));
    assert.equal(names.join(), [...names].sort().reverse().join());
    return `${names[0]} … ${names.at(-1)}`;
  },
  async filter() {
    rows.filter(new Filter("LastName", "StartsWith", "Ab"));
    const found = await rows.requestContexts(0, 100);
    assert.ok(found.length && found.every((row) => row.getProperty("LastName").startsWith("Ab")));
    rows.filter([]);
    return `${found.length} contacts`;
  },
  async expand() {
    const [claim] = await claims.getBinding("items").requestContexts(0, 1);
    const lines = claim.getObject("LineItems");
    assert.ok(lines.length && claim.getProperty("Contact/LastName"));
    return `${lines.length} lines of ${claim.getProperty("Contact/LastName")}`;
  },
  async pages() {
    const total = await rows.getHeaderContext().requestProperty("$count");
    const keys = new Set();
    for (let start = 0; start < total; start += 100) {
      for (const row of await rows.requestContexts(start, 100)) keys.add(row.getPath());
    }
    assert.equal(keys.size, Number(total));
    assert.ok(keys.size >= Number(contacts));
    return `${keys.size} records`;
  },
  async create() {
    created = rows.create({ FirstName: "Ada", LastName: "Byron" });
    await created.created();
    return created.getPath();
  },
  async change() {
    await created.setProperty("LastName", "Lovelace");
    await created.requestRefresh();
    assert.equal(created.getProperty("LastName"), "Lovelace");
    return created.getProperty("LastName");
  },
});
