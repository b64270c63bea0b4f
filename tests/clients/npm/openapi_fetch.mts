import createClient from "openapi-fetch";
import type { paths } from "./openapi_schema.js";
import { assert, headers, service, take, wholeList } from "./steps.mjs";

// The paths of the document begin with /api/.
const api = createClient<paths, "application/json">({ baseUrl: service.slice(0, -"/api/".length), headers });
const header = { "api-version": "2.1" } as const;
let key = "";

await take({
  async list() {
    const { data } = await api.GET("/api/claim", { params: { header, query: { $top: 3, $orderby: "ClaimNumber" } } });
    assert.equal(data?.value.length, 3);
    return data?.value.map((claim) => claim.ClaimNumber);
  },
  async filter() {
    const { data } = await api.GET("/api/claim", { params: { header, query: { FundingStatus: "OnHold", $filter: "Total gt 500" } } });
    assert.ok(data?.value.length && data.value.every((claim) => claim.FundingStatus === "OnHold"));
    return `${data?.value.length} claims`;
  },
  async expand() {
    const { data } = await api.GET("/api/claim", { params: { header, query: { $top: 1, $expand: "LineItems" } } });
    const lines = data?.value[0]?.LineItems;
    assert.ok(lines?.length && lines[0]?.Quantity);
    return `${lines?.length} lines`;
  },
  async pages() {
    const records: { ContactGuid?: string }[] = [];
    for (;;) {
      const query = { $top: 150, $skip: records.length, $orderby: "ContactGuid" };
      const { data } = await api.GET("/api/contact", { params: { header, query } });
      if (!data?.value.length) return wholeList(records);
      records.push(...data.value);
    }
  },
  async create() {
    const { data } = await api.POST("/api/contact", { params: { header }, body: { FirstName: "Ada", LastName: "Byron" } });
    assert.ok(data && "ContactGuid" in data && data.ContactGuid);
    key = data.ContactGuid;
    return key;
  },
  async change() {
    const path = { ContactGuid: key };
    const { response } = await api.GET("/api/contact/{ContactGuid}", { params: { header, path } });
    const state = { ...header, "If-Match": response.headers.get("ETag") ?? "" };
    const { data } = await api.PATCH("/api/contact/{ContactGuid}", { params: { header: state, path }, body: { LastName: "Lovelace" } });
    assert.equal(data?.LastName, "Lovelace");
    return data?.LastName;
  },
  async batch() {
    const requests = ["client", "claim"].map((name) => ({ id: name, method: "get" as const, url: `${name}?$top=2` }));
    const { data } = await api.POST("/api/$batch", { params: { header }, body: { requests } });
    assert.equal(data?.responses?.map((response) => response.status).join(), "200,200");
    return "2 lists";
  },
});
