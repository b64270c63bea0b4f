// The service under test, and the steps that every client takes: each returns what it saw, or throws.
// A page has RECORDS, a process of Node RECORDS_….

export const { service, token, version, contacts } = globalThis.RECORDS ?? {
  service: process.env.RECORDS_SERVICE,
  token: process.env.RECORDS_TOKEN,
  version: process.env.RECORDS_VERSION,
  contacts: process.env.RECORDS_CONTACTS,
};
export const headers = { Authorization: `Bearer ${token}`, "api-version": version };
// For clients that know no ETags: what they change, they change whatever its state.
export const headersOfWriter = { ...headers, "If-Match": "*" };

export async function take(steps) {
  for (const [name, step] of Object.entries(steps)) {
    console.log(`${name}: ${await step()}`);
  }
  if (globalThis.document) document.title = "done";
}

export const assert = {
  ok(holds, message = "a condition does not hold") {
    if (!holds) throw new Error(message);
  },
  equal(value, wanted) {
    assert.ok(value === wanted, `${value} is not ${wanted}`);
  },
};

// Clients create contacts meanwhile: a list that is read in pages must have them all, each once.
export function wholeList(records) {
  const keys = new Set(records.map((record) => record.ContactGuid));
  assert.equal(keys.size, records.length);
  assert.ok(records.length >= Number(contacts), `${records.length} of ${contacts}`);
  return `${records.length} records`;
}
