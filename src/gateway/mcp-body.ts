import { decodeUtf8, IntegrityError, readBounded } from "../core/integrity.ts";
import { GatewayError } from "./errors.ts";

/**
 * The text of a request's JSON body.
 *
 * @param maxBytes a body of exactly this length passes; a longer one is refused without being read to its end.
 * @throws {GatewayError} `unsupported_media_type`, `too_large`, `bad_json` for a body that ends early or is not UTF-8.
 */
export async function readJsonText(request: Request, maxBytes: number): Promise<string> {
  if (!isPlainJson(request.headers)) throw new GatewayError("unsupported_media_type");
  try {
    return decodeUtf8(await readBytes(request, maxBytes));
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error;
    throw error.code === "too_large"
      ? new GatewayError("too_large", { message: `The request body is larger than ${maxBytes} bytes, the limit.` })
      : new GatewayError("bad_json", { message: error.message });
  }
}

/**
 * A body of a declared length within the cap is read in one piece: HTTP ends it at that length, and reading it chunk by chunk costs as
 * much as the rest of a request. Any other is read against the cap.
 *
 * @throws {IntegrityError}
 */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const length = request.headers.get("Content-Length");
  if (length === null || !/^[0-9]{1,9}$/.test(length) || Number(length) > maxBytes) {
    const body = new Response(request.body, length === null ? {} : { headers: { "Content-Length": length } });
    return readBounded(body, maxBytes);
  }
  let bytes: Uint8Array;
  try {
    bytes = new Uint8Array(await request.arrayBuffer());
  } catch (cause) {
    throw new IntegrityError("read_failed", "The body could not be read to its end.", { cause });
  }
  if (bytes.length === Number(length)) return bytes;
  throw new IntegrityError(
    "length_mismatch",
    `The body has ${bytes.length} bytes, but its Content-Length says ${length}.`,
  );
}

function isPlainJson(headers: Headers): boolean {
  const [type = "", ...parameters] = (headers.get("Content-Type") ?? "").toLowerCase().split(";");
  if (type.trim() !== "application/json") return false;
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="));
  if (charset !== undefined && !["utf-8", "utf8"].includes(charset.slice("charset=".length).replaceAll('"', "")))
    return false;
  const encoding = headers.get("Content-Encoding");
  return encoding === null || encoding.trim().toLowerCase() === "identity";
}

/** Longest value of a header that MCP defines, characters. */
const MAX_MCP_HEADER_CHARS = 8_192;

/**
 * Refuses MCP headers that no client has a reason to send, before anything decodes or compares them. What they say is the MCP core's
 * affair.
 *
 * @throws {GatewayError} `bad_header`.
 */
export function checkMcpHeaders(headers: Headers): void {
  for (const name of MCP_HEADERS) checkLength(name, headers.get(name));
  // The others mirror arguments. Where this one is missing nothing reads them, and to look at every header is slow.
  if (!headers.has("Mcp-Method")) return;
  for (const [name, value] of headers) if (name.startsWith("mcp-")) checkLength(name, value);
}

const MCP_HEADERS = ["mcp-protocol-version", "mcp-name", "mcp-session-id"];

function checkLength(name: string, value: string | null): void {
  if (value === null || value.length <= MAX_MCP_HEADER_CHARS) return;
  // The name may be anything a token may be, but it is short and visible ASCII.
  throw new GatewayError("bad_header", {
    message: `The header ${name.slice(0, 64)} is longer than ${MAX_MCP_HEADER_CHARS} characters.`,
  });
}
