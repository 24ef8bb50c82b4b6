import { describe, expect, it } from "vitest";
import { readLock, writeLock } from "./lock-file.ts";

const PIN = {
  scope: null,
  name: "sum",
  tool_sha256: "a".repeat(64),
  recipe_sha256: null,
  pinned_at: "2026-03-01T12:00:00.000Z",
};
const ORIGIN = "https://publisher.example";
const text = (origins: unknown, more: object = {}) => JSON.stringify({ lockfile_version: 1, origins, ...more });

describe("a lock file", () => {
  it("is sorted, and the same whoever wrote it in which order", () => {
    const pins = [
      { ...PIN, scope: "kb", name: "a" },
      { ...PIN, name: "b" },
      { ...PIN, scope: "a", name: "b__c" },
      { ...PIN, scope: "a__b", name: "c" },
      { ...PIN, name: "a" },
    ];
    const origins = { "https://b.example": pins, [ORIGIN]: [PIN], "https://a.example/base": [] };
    const read = readLock(text(origins));
    if (typeof read === "string") throw new Error(read);
    const written = writeLock(read);
    const turned = readLock(
      text(
        Object.fromEntries(
          Object.entries(origins)
            .reverse()
            .map(([o, p]) => [o, [...p].reverse()]),
        ),
      ),
    );
    if (typeof turned === "string") throw new Error(turned);
    expect(writeLock(turned)).toBe(written);
    expect(written.endsWith("\n}\n")).toBe(true);
    const { origins: sorted } = JSON.parse(written) as { origins: Record<string, (typeof PIN)[]> };
    expect(Object.keys(sorted)).toEqual(["https://a.example/base", "https://b.example", ORIGIN]);
    expect(sorted["https://b.example"]?.map(({ scope, name }) => [scope, name])).toEqual([
      [null, "a"],
      [null, "b"],
      ["a", "b__c"],
      ["a__b", "c"],
      ["kb", "a"],
    ]);
  });

  it.each([
    ["nothing", "", "not valid JSON"],
    ["a part", text({ [ORIGIN]: [PIN] }).slice(0, -3), "cut off"],
    ["a list", "[]", "not a JSON object"],
    ["no version", '{"origins":{}}', "lockfile_version"],
    ["a version that is a word", '{"lockfile_version":"1","origins":{}}', "not a number"],
    ["a later version", '{"lockfile_version":2,"origins":{}}', "knows 1"],
    ["[10.2-lock] a version of another tool", '{"lockfile_version":0,"origins":{}}', "knows 1"],
    ["no origins", '{"lockfile_version":1}', "`origins` is not an object"],
    ["[10.2-lock] origins that are null", text(null), "`origins` is not an object"],
    ["another field", text({}, { more: 1 }), "not known"],
    ["pins that are no list", text({ [ORIGIN]: { sum: PIN } }), "not a list"],
    ["an origin that is none", text({ "publisher.example": [] }), "canonical"],
    ["an origin in another spelling", text({ "https://Publisher.example/": [] }), "canonical"],
    ["a pin that is null", text({ [ORIGIN]: [null] }), "not an object"],
    ["a number for a name", text({ [ORIGIN]: [{ ...PIN, name: 1 }] }), "`name`"],
    ["a number for a scope", text({ [ORIGIN]: [{ ...PIN, scope: 1 }] }), "`scope`"],
    ["a short hash", text({ [ORIGIN]: [{ ...PIN, tool_sha256: "abc" }] }), "`tool_sha256`"],
    ["an upper-case hash", text({ [ORIGIN]: [{ ...PIN, tool_sha256: "A".repeat(64) }] }), "`tool_sha256`"],
    ["a recipe hash that is none", text({ [ORIGIN]: [{ ...PIN, recipe_sha256: "" }] }), "`recipe_sha256`"],
    ["a day that there is not", text({ [ORIGIN]: [{ ...PIN, pinned_at: "2026-02-30T00:00:00.000Z" }] }), "`pinned_at`"],
    ["a field of a pin that is not known", text({ [ORIGIN]: [{ ...PIN, more: 1 }] }), "not known"],
    ["a skill pinned twice", text({ [ORIGIN]: [PIN, PIN] }), "pinned before"],
    ["a key that stands twice", `{"lockfile_version":1,"origins":{"${ORIGIN}":[],"${ORIGIN}":[]}}`, "twice"],
    ["a key twice in two spellings", '{"lockfile_version":1,"origins":{},"\\u006frigins":{}}', "twice"],
    ["a key of a pin twice", `{"lockfile_version":1,"origins":{"${ORIGIN}":[{"name":"a","name":"b"}]}}`, "twice"],
    ["a prototype", `{"lockfile_version":1,"origins":{"__proto__":[]}}`, "canonical"],
  ])("with %s is not one", (_, content, why) => {
    expect(readLock(content)).toContain(why);
  });

  it("is none when it is cut off anywhere, and when anything in it is of another type", () => {
    const whole = text({
      [ORIGIN]: [PIN],
      "https://other.example": [{ ...PIN, scope: "kb", recipe_sha256: "b".repeat(64) }],
    });
    expect(readLock(whole)).toBeInstanceOf(Map);
    for (let length = 0; length < whole.length; length++) {
      expect(readLock(whole.slice(0, length)), `${length}`).toBeTypeOf("string");
    }
    const spoil = (node: unknown, put: (value: unknown) => void): void => {
      for (const wrong of [true, 7, -1.5, [[]], { a: {} }, "?"]) {
        const isFree = node === null || (typeof node === "string" && !/^[0-9a-f]{64}$|^20/.test(node));
        if (wrong === "?" && isFree) continue;
        put(wrong);
        expect(readLock(JSON.stringify(document)), JSON.stringify(document)).toBeTypeOf("string");
      }
      put(node);
      if (typeof node !== "object" || node === null) return;
      const fields = node as Record<string, unknown>;
      for (const key of Object.keys(fields)) spoil(fields[key], (value) => (fields[key] = value));
    };
    let document = JSON.parse(whole) as unknown;
    spoil(document, (value) => (document = value));
  });

  it("may say a word twice where it is no key", () => {
    const twice = text({ [ORIGIN]: [PIN, { ...PIN, name: "name" }, { ...PIN, name: '{"a":1,"a":' }] });
    expect(readLock(twice)).toBeInstanceOf(Map);
  });
});
