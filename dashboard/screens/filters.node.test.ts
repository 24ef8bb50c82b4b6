import { describe, expect, it } from "vitest";
import { fieldsOf, filterQuery } from "./filters.ts";

const KINDS = { action: "text", from: "moment" } as const;

describe("a filter in the address", () => {
  it("is what the API is asked, and the fields that made it", () => {
    const fields = { action: "origin.revoke & more", from: "2026-11-30T23:59" };
    const query = filterQuery(KINDS, fields);
    const asked = new URLSearchParams(query);
    expect([...asked]).toEqual([
      ["action", "origin.revoke & more"],
      ["from", String(Date.parse("2026-11-30T23:59"))],
    ]);
    expect(fieldsOf(KINDS, asked)).toEqual(fields);
    expect(filterQuery(KINDS, { action: "", from: "" })).toBe("");
  });

  it.each(["", "from=", "from=x", "from=-1", "from=1e3", "from=99999999999999999999", "other=1"])(
    "has no field of what is none: %j",
    (query) => {
      expect(fieldsOf(KINDS, new URLSearchParams(query))).toEqual({ action: "", from: "" });
    },
  );
});
