import { describe, expect, it } from "vitest";
import { checkMcpHeaders, readJsonText } from "./mcp-body.ts";

function request(body: BodyInit, headers: Record<string, string> = {}): Request {
  return new Request("https://gate.example/mcp", {
    method: "POST",
    body,
    headers: { "Content-Type": "application/json", ...headers },
  });
}

function chunks(...texts: string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(encoder.encode(text));
      controller.close();
    },
  });
}

describe("a body of a declared length", () => {
  it("is read whole up to the cap and refused above it", async () => {
    const text = '"123456"';
    const declared = { "Content-Length": "8" };
    expect(await readJsonText(request(text, declared), 8)).toBe(text);
    expect(await readJsonText(request(text, declared), 9)).toBe(text);
    await expect(readJsonText(request(text, declared), 7)).rejects.toMatchObject({ code: "too_large" });
  });

  it.each(["7", "9", "0"])("is bad_json where it has another length than the %s bytes declared", async (length) => {
    await expect(readJsonText(request('"123456"', { "Content-Length": length }), 100)).rejects.toMatchObject({
      code: "bad_json",
    });
  });

  it("is bad_json where it is not UTF-8, and the next one is read all the same", async () => {
    const broken = request(new Uint8Array([0x22, 0xc3, 0x22]), { "Content-Length": "3" });
    await expect(readJsonText(broken, 100)).rejects.toMatchObject({ code: "bad_json" });
    expect(await readJsonText(request('"é"', { "Content-Length": "4" }), 100)).toBe('"é"');
  });
});

it.each([undefined, "8x", "1e3"])("a body with the length %s is read against the cap", async (length) => {
  const headers: Record<string, string> = length === undefined ? {} : { "Content-Length": length };
  const outcome = async (cap: number) =>
    readJsonText(request(chunks('"1234', '56"'), headers), cap).catch((error: { code: string }) => error.code);
  expect(await outcome(7)).toBe("too_large");
  expect(await outcome(8)).toBe('"123456"');
});

describe("checkMcpHeaders", () => {
  const MODERN = { "Mcp-Method": "tools/call" };
  it.each([
    ["mcp-protocol-version", {}],
    ["mcp-name", {}],
    ["mcp-session-id", {}],
    ["mcp-method", {}],
    ["mcp-param-region", MODERN],
  ])("[code:bad_header] refuses %s above 8,192 characters and no shorter one", (name, others) => {
    const check = (length: number) => checkMcpHeaders(new Headers({ ...others, [name]: "n".repeat(length) }));
    expect(() => check(8_193)).toThrow(name);
    expect(() => check(8_192)).not.toThrow();
  });

  it("leaves other headers alone", () => {
    expect(() => checkMcpHeaders(new Headers({ ...MODERN, "X-Other": "n".repeat(9_000) }))).not.toThrow();
  });
});
