import { describe, expect, it } from "vitest";
import { constantTimeEqual, createToken, isWellFormedToken, parseBearer, tokenSha256 } from "./token.ts";

describe("tokens", () => {
  it("are sg_<random>_<checksum> with 160 random bits, all different", () => {
    const tokens = new Set(Array.from({ length: 1_000 }, createToken));
    expect(tokens.size).toBe(1_000);
    for (const token of tokens) expect(token).toMatch(/^sg_[0-9a-z]{32}_[0-9a-z]{7}$/);
  });

  it("pass their own checksum, and no token with one changed character does", () => {
    const token = createToken();
    expect(isWellFormedToken(token)).toBe(true);
    for (let i = 3; i < token.length; i++) {
      if (token[i] === "_") continue;
      const changed = token.slice(0, i) + (token[i] === "7" ? "8" : "7") + token.slice(i + 1);
      expect(isWellFormedToken(changed), changed).toBe(false);
    }
  });

  it("are refused without a checksum when the shape is wrong", () => {
    for (const junk of [
      "",
      "sg_",
      "sg__",
      "x",
      `sg_${"0".repeat(32)}_0000000`,
      `${createToken()} `,
      createToken().toUpperCase(),
    ]) {
      expect(isWellFormedToken(junk), junk).toBe(false);
    }
  });

  it("are stored as the SHA-256 of their bytes", async () => {
    expect(await tokenSha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });
});

describe("parseBearer", () => {
  it.each([
    ["Bearer abc", "abc"],
    ["bearer abc", "abc"],
    ["BEARER   abc  ", "abc"],
    ["Bearer a-b._~+/c==", "a-b._~+/c=="],
    [`Bearer ${"a".repeat(512)}`, "a".repeat(512)],
    [`Bearer ${"a".repeat(513)}`, null],
    ["Bearer ", null],
    ["Bearer", null],
    ["Bearerabc", null],
    ["Basic abc", null],
    ["Bearer a b", null],
    ["Bearer a,b", null],
    ["Bearer =", null],
    ["Bearer\tabc", null],
    ["", null],
    [null, null],
    [undefined, null],
  ])("reads %j as %j", (header, token) => {
    expect(parseBearer(header)).toBe(token);
  });
});

it("constantTimeEqual compares like ===", () => {
  for (const [left, right] of [
    ["", ""],
    ["a", "a"],
    ["a", "b"],
    ["a", "ab"],
    ["ab", "a"],
    ["é", "é"],
    ["", "\u0000"],
  ] as const) {
    expect(constantTimeEqual(left, right)).toBe(left === right);
  }
});
