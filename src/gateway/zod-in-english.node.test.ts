import { expect, it } from "vitest";

const whole: Record<string, unknown> = await import("zod");

/** A name that a new zod adds belongs into the file or into this list. */
const LEFT_OUT = [
  "INVALID",
  "ZodCompileAsyncError",
  "ZodCompileUnsupportedError",
  "compile",
  "core",
  "deepPartial",
  "fromJSONSchema",
  "getDiscriminatedOption",
  "input",
  "locales",
  "memoizer",
  "output",
  "toZod",
  "withParser",
];

it("exports what zod does, but for its other languages and what nothing here uses", async () => {
  const bundled = (await import("./zod-in-english.mjs" as string)) as Record<string, unknown>;
  expect(Object.keys(whole).filter((name) => !(name in bundled))).toEqual(expect.arrayContaining(LEFT_OUT));
  expect(Object.keys(whole).filter((name) => !(name in bundled))).toHaveLength(LEFT_OUT.length);
  for (const [name, value] of Object.entries(bundled)) {
    if (typeof value === "function") expect(value, name).toBe(whole[name]);
  }
});
