import { expect, it } from "vitest";
import { followed } from "./query.ts";

it("goes on from the page that was asked for, and nowhere while an older one is on the screen", () => {
  expect(followed([], "a", true)).toEqual(["a"]);
  expect(followed(["a"], "b", true)).toEqual(["a", "b"]);
  expect(followed(["a"], "a", false)).toEqual(["a"]);
  expect(followed([], "of another filter", false)).toEqual([]);
});
