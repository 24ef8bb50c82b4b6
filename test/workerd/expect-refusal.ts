import { expect } from "vitest";
import type { RpcAnswer } from "./gateway-fixture.ts";

/** Before an id is known: `{"error", "message"}`. */
export async function expectPlain(
  response: Response,
  status: number,
  code: string,
): Promise<{ error: string; message: string }> {
  const body = (await response.json()) as { error: string; message: string };
  expect([response.status, body.error]).toEqual([status, code]);
  expect(body.message).toMatch(/^[A-Z].*\.$/s);
  expect(Object.keys(body).sort()).toEqual(["error", "message"]);
  expectCommon(response);
  return body;
}

/** After: a JSON-RPC error with the same status. */
export async function expectRpc(response: Response, status: number, code: string): Promise<RpcAnswer> {
  const body = (await response.json()) as RpcAnswer;
  expect([response.status, body.error?.data?.code, body.id]).toEqual([status, code, 1]);
  const number = body.error?.code ?? 0;
  expect(number < -32768 || number > -32000).toBe(true);
  expectCommon(response);
  return body;
}

function expectCommon(response: Response): void {
  expect(response.headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(response.headers.get("Content-Type")).toMatch(/^application\/json/);
  expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  if (response.status === 429 || response.status === 503) {
    expect(Number(response.headers.get("Retry-After"))).toBeGreaterThanOrEqual(1);
  }
}
