import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { attestationEntry } from "./attestation.ts";
import { addDays, isCalendarDate } from "./calendar-date.ts";
import { entryOf } from "./fixture/entries.ts";
import { createReviewer, day } from "./fixture/reviewing.ts";
import { MAX_BUNDLE_LENGTH, MAX_ENTRIES, readAttestations } from "./read.ts";
import { publishableAttestations } from "./sign.ts";

const codeOf = async (entry: Json) => (await readAttestations([entry])).malformed[0]?.code ?? "ok";
const bundleOf = (length: number) => ({ a: "x".repeat(length - '{"a":""}'.length) });
const sigstore = (sigstore_bundle: Json) =>
  entryOf({ attester: "sigstore:https://code.example/ada", signature: undefined, sigstore_bundle });

describe("an entry of attestations.json", () => {
  it.each<[string, Json, string]>([
    ["that is whole", entryOf(), "ok"],
    ["with fields that nobody knows", entryOf({ colour: "blue", scope: "kb" }), "ok"],
    ["whose signature is no base64: a signature that fails", entryOf({ signature: "%" }), "ok"],
    ["with a bundle", sigstore({}), "ok"],
    ["with a note", entryOf({ note: "Read line by line." }), "ok"],
    ["with no note", entryOf({ note: null }), "ok"],
    ["that is a string", "attested", "not_an_object"],
    ["that is a list", [], "not_an_object"],
    ["that is null", null, "not_an_object"],
    ["without an origin", entryOf({ origin: undefined }), "missing_field"],
    ["without a skill", entryOf({ skill: undefined }), "missing_field"],
    ["without a hash", entryOf({ tool_sha256: undefined }), "missing_field"],
    ["without an attester", entryOf({ attester: undefined }), "missing_field"],
    ["without a first day", entryOf({ signed_on: undefined }), "missing_field"],
    ["without a last day", entryOf({ valid_until: undefined }), "missing_field"],
    ["without a signature", entryOf({ signature: undefined }), "missing_field"],
    ["with a signature where a bundle belongs", entryOf({ attester: "sigstore:ada@example.org" }), "missing_field"],
    [
      "with a bundle where a signature belongs",
      entryOf({ signature: undefined, sigstore_bundle: {} }),
      "missing_field",
    ],
    ["whose origin is inherited", JSON.parse('{"__proto__":{"origin":"https://a.example"}}') as Json, "missing_field"],
    ["with a number for a skill", entryOf({ skill: 7 }), "bad_type"],
    ["with a list for a signature", entryOf({ signature: ["x"] }), "bad_type"],
    ["with a string for a bundle", sigstore("{}"), "bad_type"],
    ["with a number for a note", entryOf({ note: 1 }), "bad_type"],
    ["with a path for an origin", entryOf({ origin: "/llms.txt" }), "bad_origin"],
    ["with credentials in its origin", entryOf({ origin: "https://ada@publisher.example" }), "bad_origin"],
    ["with a non-ASCII skill", entryOf({ skill: "süm" }), "bad_skill"],
    ["with an empty skill", entryOf({ skill: "" }), "bad_skill"],
    ["with a line feed in its skill", entryOf({ skill: "sum\n" }), "bad_skill"],
    ["with an upper-case hash", entryOf({ tool_sha256: "A".repeat(64) }), "bad_tool_sha256"],
    ["with a short hash", entryOf({ tool_sha256: "a".repeat(63) }), "bad_tool_sha256"],
    ["with an attester without a type", entryOf({ attester: "ada" }), "bad_attester"],
    ["with an attester without a name", entryOf({ attester: "human:" }), "bad_attester"],
    ["with an attester that looks like another", entryOf({ attester: "human:аda" }), "bad_attester"],
    ["with 29 February of a common year", entryOf({ valid_until: "2027-02-29" }), "bad_date"],
    ["with a thirteenth month", entryOf({ signed_on: "2026-13-01" }), "bad_date"],
    ["with ninety-nine of everything", entryOf({ valid_until: "2099-99-99" }), "bad_date"],
    ["[10.4-c29c809] with a date of slashes", entryOf({ signed_on: "2026/7/2" }), "bad_date"],
    ["with a time", entryOf({ signed_on: "2026-07-02T00:00:00Z" }), "bad_date"],
    ["with a signature of 1,025 characters", entryOf({ signature: "A".repeat(1_025) }), "bad_signature"],
    ["with a note of 4,097 characters", entryOf({ note: "x".repeat(4_097) }), "bad_note"],
    ["nested 33 deep", entryOf({ x: JSON.parse(`${"[".repeat(32)}${"]".repeat(32)}`) as Json }), "too_deep"],
  ])("%s", async (_what, entry, code) => {
    expect(await codeOf(entry)).toBe(code);
  });

  it("[budget:bundle] has a bundle of at most 65,536 characters", async () => {
    expect(await codeOf(sigstore(bundleOf(MAX_BUNDLE_LENGTH)))).toBe("ok");
    expect(await codeOf(sigstore(bundleOf(MAX_BUNDLE_LENGTH + 1)))).toBe("bundle_too_large");
  });

  it("is about the canonical origin, its base path kept", async () => {
    const { attestations } = await readAttestations([entryOf({ origin: "HTTPS://U.github.io:443/REPO/" })]);
    expect(attestations[0]?.origin).toBe("https://u.github.io/REPO");
  });

  it("never throws, whatever it is", async () => {
    const field = fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 2 }), fc.constantFrom("2026-07-01", "a:b", "\ud800"));
    const entry = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.constantFrom(...Object.keys(entryOf()), "note", "sigstore_bundle"), field),
    );
    const property = fc.asyncProperty(fc.array(entry, { maxLength: 4 }), async (entries) => {
      const { attestations, malformed } = await readAttestations(entries as Json[]);
      expect(attestations.length + malformed.length).toBeLessThanOrEqual(entries.length);
      for (const { message } of malformed) expect(message).toMatch(/^The (?:entry|field) .*\.$/s);
    });
    await fc.assert(property, { numRuns: 200 });
  });
});

describe("a list of entries", () => {
  it("loses bad ones and repeated ones, and keeps the others in order", async () => {
    const [first, second] = [entryOf({ skill: "one" }), entryOf({ skill: "two" })];
    const { attestations, malformed } = await readAttestations([7, first, second, { ...first, note: "again" }, {}]);
    expect(attestations.map(({ skill, note }) => [skill, note])).toEqual([
      ["one", null],
      ["two", null],
    ]);
    expect(malformed.map(({ index, code }) => [index, code])).toEqual([
      [0, "not_an_object"],
      [4, "missing_field"],
    ]);
  });

  it("[budget:attestation-entries] is read up to 10,000 entries", async () => {
    const entries: Json[] = new Array(MAX_ENTRIES).fill(0);
    expect((await readAttestations(entries)).malformed).toHaveLength(MAX_ENTRIES);
    const { malformed, attestations } = await readAttestations([...entries, entryOf()]);
    expect(malformed.at(-1)).toMatchObject({ index: MAX_ENTRIES, code: "too_many_entries" });
    expect(attestations).toEqual([]);
  });

  it("gives the same id to what counts the same, and another to whatever counts", async () => {
    const same = [entryOf(), entryOf({ note: "x" }), entryOf({ origin: "https://PUBLISHER.example/" })];
    expect((await readAttestations(same)).attestations).toHaveLength(1);
    const others = ["origin", "skill", "tool_sha256", "attester", "signed_on", "valid_until", "signature"].map(
      (field) =>
        entryOf({
          [field]:
            {
              origin: "https://o.example",
              tool_sha256: "b".repeat(64),
              attester: "a:b",
              signed_on: "2026-07-02",
              valid_until: "2027-07-01",
            }[field] ?? "other",
        }),
    );
    expect((await readAttestations([entryOf(), ...others])).attestations).toHaveLength(8);
    const bundles = [sigstore({ a: 1, b: 2 }), sigstore({ b: 2, a: 1 }), sigstore({ a: 1, b: 3 })];
    const read = (await readAttestations(bundles)).attestations;
    expect(read).toHaveLength(2);
    // A revocation of one is a revocation of all: whoever serves a bundle may write it in other words.
    expect(new Set(read.map(({ id }) => id)).size).toBe(1);
  });
});

it("what the gateway stored is exported as the file that a publisher would publish", async () => {
  const { sign } = await createReviewer();
  const [old, recent] = [await sign(), await sign({ signedOn: day("2026-08-01") })];
  const bundled = (await readAttestations([sigstore({ mediaType: "x" })])).attestations;
  const exported = publishableAttestations([old, ...bundled, recent]);
  expect(exported.map(({ skill, signed_on, attester }) => [skill, signed_on, attester])).toEqual([
    ["sum", "2026-08-01", "human:ada"],
    ["sum", "2026-07-01", "human:ada"],
    ["sum", "2026-07-01", "sigstore:https://code.example/ada"],
  ]);
  const again = await readAttestations(JSON.parse(JSON.stringify(exported)) as Json[]);
  expect(again).toEqual({ attestations: [recent, old, ...bundled], malformed: [] });
  expect(attestationEntry(recent)).toEqual(exported[0]);
});

it("a day exists or does not", () => {
  expect(["2028-02-29", "2026-12-31", "0001-01-01", "9999-12-31"].map(isCalendarDate)).not.toContain(false);
  expect(
    ["2026-02-29", "2026-06-31", "2026-00-10", "26-01-01", "2026-01-01 ", "２026-01-01", ""].map(isCalendarDate),
  ).not.toContain(true);
  expect([addDays(day("2026-12-31"), 1), addDays(day("2028-03-01"), -1)]).toEqual(["2027-01-01", "2028-02-29"]);
});
