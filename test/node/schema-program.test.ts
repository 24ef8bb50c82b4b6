import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { bundleValidator } from "../../src/dev/schema/build.ts";

it("the generated schema program is what its source gives, twice the same", async () => {
  const generated = readFileSync(
    new URL("../../src/core/schema/generated/validator-program.ts", import.meta.url),
    "utf8",
  );
  expect(await bundleValidator()).toBe(generated);
  expect(await bundleValidator()).toBe(generated);
});

it("the schema program uses ECMAScript built-ins alone", async () => {
  const text = await bundleValidator();
  for (const name of ["new URL", "TextEncoder", "structuredClone", "process.", "globalThis", "require("]) {
    expect(text).not.toContain(name);
  }
});
