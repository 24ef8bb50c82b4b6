import type { JsonObject } from "../json.ts";
import { headerMismatch } from "./errors.ts";

/** Which member of `params` the `Mcp-Name` header mirrors (2026-07-28 basic/transports). */
const NAME_SOURCE: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

/**
 * Checks that `Mcp-Method` and `Mcp-Name` are there and equal to the body. Modern requests only; legacy clients may send anything.
 *
 * @throws McpError -32020, HTTP 400.
 */
export function checkStandardHeaders(method: string, params: JsonObject, headers: Headers): void {
  const methodHeader = headers.get("mcp-method");
  if (methodHeader === null) throw headerMismatch("The Mcp-Method header is missing.");
  if (methodHeader !== method) throw headerMismatch("The Mcp-Method header and the method of the body differ.");

  const member = NAME_SOURCE.get(method);
  if (member === undefined) return;
  const header = headers.get("mcp-name");
  const value = params[member];
  // A body without a string there is refused by the method itself, which names the member.
  if (typeof value !== "string") return;
  if (header === null) throw headerMismatch("The Mcp-Name header is missing.");
  const decoded = decodeHeaderValue(header);
  if (decoded === null) throw headerMismatch("The Mcp-Name header is not visible ASCII or valid Base64.");
  if (decoded !== value) throw headerMismatch(`The Mcp-Name header and params.${member} differ.`);
}

const BASE64_PREFIX = "=?base64?";
const BASE64_SUFFIX = "?=";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const PRINTABLE = /^[\t\x20-\x7e]*$/;

/**
 * The value of an `Mcp-Name` or `Mcp-Param-*` header: as it stands, or decoded where it is wrapped as `=?base64?…?=` (lower-case
 * markers, padded Base64 of UTF-8). A value with only one of the markers is literal.
 *
 * @returns `null` for characters outside printable ASCII, wrong padding or alphabet, or bytes that are not UTF-8.
 */
export function decodeHeaderValue(value: string): string | null {
  if (!PRINTABLE.test(value)) return null;
  const isWrapped = value.length >= BASE64_PREFIX.length + BASE64_SUFFIX.length;
  if (!isWrapped || !value.startsWith(BASE64_PREFIX) || !value.endsWith(BASE64_SUFFIX)) return value;
  const encoded = value.slice(BASE64_PREFIX.length, -BASE64_SUFFIX.length);
  if (!BASE64.test(encoded)) return null;
  const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
