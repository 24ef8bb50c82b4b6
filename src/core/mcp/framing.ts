import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { RPC, type RpcFailure } from "./errors.ts";

export type RequestId = string | number;

/** One JSON-RPC message as an MCP client may send it. */
export type Message =
  | { readonly kind: "request"; readonly id: RequestId; readonly method: string; readonly params: JsonObject }
  /** No `id`, so no reply; nothing is executed either. */
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
  /** An answer to a request we never send. */
  | { readonly kind: "response" };

export type Framing =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly id: RequestId | null; readonly failure: RpcFailure };

/** Deepest nesting of arrays and objects in a message. Deeper ones are refused before they are parsed. */
export const MAX_DEPTH = 64;

/** A number needs an exponent, or as many digits, to be beyond what a number can hold. */
const MAY_OVERFLOW = /\d[eE]\+?\d|\d{309}/;

/**
 * Reads one JSON-RPC message. The body is attacker-controlled; its size is the caller's cap.
 *
 * Refused with HTTP 400: text that is not JSON or nests deeper than 64 (-32700), numbers beyond a double, batches, a missing `jsonrpc: "2.0"`, an id
 * that is neither a string nor a safe integer, `params` that are not an object (all -32600).
 */
export function parseMessage(body: string): Framing {
  if (nestsDeeperThan(body, MAX_DEPTH)) return unreadable(`The message nests deeper than ${MAX_DEPTH} levels.`);
  let value: Json;
  try {
    value = JSON.parse(body) as Json;
  } catch {
    return unreadable("The body is not JSON.");
  }
  const framing = readMessage(value);
  if (!framing.ok || !MAY_OVERFLOW.test(body) || isRepresentable(value)) return framing;
  const id = framing.message.kind === "request" ? framing.message.id : null;
  return invalid(id, "A number in the message is beyond ±1.7976931348623157e308 and would be lost.");
}

/** JSON.parse reads larger numbers as infinite ones, which no JSON can say again. */
function isRepresentable(value: Json): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isRepresentable);
}

function readMessage(value: Json): Framing {
  if (Array.isArray(value)) return invalid(null, "Batches are not supported: send one JSON-RPC message a request.");
  if (!isJsonObject(value)) return invalid(null, "The body must be one JSON-RPC object.");

  const hasId = Object.hasOwn(value, "id");
  const id = isRequestId(value.id) ? value.id : null;
  if (value.jsonrpc !== "2.0") return invalid(id, '"jsonrpc" must be "2.0".');

  if (!Object.hasOwn(value, "method")) {
    // A response: exactly one of both. We ask nothing, so it can only be read and dropped.
    const isResponse = hasId && Object.hasOwn(value, "result") !== isJsonObject(value.error);
    return isResponse ? { ok: true, message: { kind: "response" } } : invalid(id, '"method" is missing.');
  }
  if (hasId && id === null) return invalid(null, '"id" must be a string or an integer.');
  const { method, params = {} } = value;
  if (typeof method !== "string") return invalid(id, '"method" must be a string.');
  if (!isJsonObject(params)) return invalid(id, '"params" must be an object.');
  return {
    ok: true,
    message: id === null ? { kind: "notification", method, params } : { kind: "request", id, method, params },
  };
}

/** Integers beyond 2^53 lose digits in JSON.parse, so their answer could not be matched by the client. */
function isRequestId(value: Json | undefined): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

/** Counts brackets outside strings, without recursion, so that hostile nesting never reaches a recursive parser. */
function nestsDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (inString) {
      if (unit === BACKSLASH) i++;
      else if (unit === QUOTE) inString = false;
    } else if (unit === QUOTE) inString = true;
    else if (unit === OPEN_BRACKET || unit === OPEN_BRACE) {
      if (++depth > limit) return true;
    } else if (unit === CLOSE_BRACKET || unit === CLOSE_BRACE) depth--;
  }
  return false;
}

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function unreadable(message: string): Framing {
  return {
    ok: false,
    id: null,
    failure: { status: 400, rpcCode: RPC.parseError, message, data: { code: "bad_json" } },
  };
}

function invalid(id: RequestId | null, message: string): Framing {
  return { ok: false, id, failure: { status: 400, rpcCode: RPC.invalidRequest, message } };
}
