import { expect, it } from "vitest";
import { isJsonObject } from "./json.ts";

it("tells objects from arrays, null and scalars", () => {
  expect(isJsonObject({})).toBe(true);
  for (const value of [[], null, 1, "x", undefined]) expect(isJsonObject(value)).toBe(false);
});
