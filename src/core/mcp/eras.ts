import { isJsonObject, type JsonObject } from "../json.ts";
import { headerMismatch, invalidParams, McpError, RPC } from "./errors.ts";
import type { Era } from "./provider.ts";
import {
  ASSUMED_VERSION,
  HANDSHAKE_VERSIONS,
  META_CLIENT_CAPABILITIES,
  META_PROTOCOL_VERSION,
  MODERN_VERSIONS,
  SERVED_VERSIONS,
} from "./revisions.ts";

/** How one request is to be served. */
export interface Dialect {
  readonly era: Era;
  readonly protocolVersion: string;
  /** Empty for legacy clients: we keep no session that could remember their handshake. */
  readonly clientCapabilities: JsonObject;
  /** `params._meta`, or an empty object. */
  readonly meta: JsonObject;
}

/**
 * Decides the era of a request over HTTP: by `_meta` in the body first, then by `MCP-Protocol-Version`. `Mcp-Method` says nothing about the
 * era, because some bridges (mcp-remote 0.15) add it to legacy requests.
 *
 * @throws McpError -32602 (`_meta` lacks a required field), -32020 (header and body disagree or the header is missing),
 * -32022 (a version in `_meta` that is not served), -32600 (a version header that is not served); all HTTP 400.
 */
export function classify(params: JsonObject, headers: Headers): Dialect {
  const header = headers.get("mcp-protocol-version");
  const meta = params._meta;
  const claim = isJsonObject(meta) ? meta[META_PROTOCOL_VERSION] : undefined;
  if (claim !== undefined || (header !== null && MODERN_VERSIONS.includes(header))) {
    return classifyModern(meta, header);
  }

  if (meta !== undefined && !isJsonObject(meta)) throw invalidParams("params._meta must be an object.");
  const protocolVersion = header ?? ASSUMED_VERSION;
  if (protocolVersion !== ASSUMED_VERSION && !HANDSHAKE_VERSIONS.includes(protocolVersion)) {
    throw new McpError({
      status: 400,
      rpcCode: RPC.invalidRequest,
      message: `The MCP-Protocol-Version header names an unsupported version; supported: ${SERVED_VERSIONS.join(", ")}.`,
      data: { code: "bad_header", supported: SERVED_VERSIONS },
    });
  }
  return { era: "legacy", protocolVersion, clientCapabilities: {}, meta: meta ?? {} };
}

/**
 * Decides the era of a request where there are no headers: `_meta` says all.
 *
 * @param negotiated the revision that the handshake of the connection agreed on, for requests without `_meta` of their own.
 * @throws McpError -32602 (`_meta` lacks a required field), -32022 (a version in `_meta` that is not served).
 */
export function classifyBody(params: JsonObject, negotiated: string): Dialect {
  const meta = params._meta;
  if (isJsonObject(meta) && meta[META_PROTOCOL_VERSION] !== undefined) return modernDialect(meta);
  if (meta !== undefined && !isJsonObject(meta)) throw invalidParams("params._meta must be an object.");
  return { era: "legacy", protocolVersion: negotiated, clientCapabilities: {}, meta: meta ?? {} };
}

function classifyModern(meta: unknown, header: string | null): Dialect {
  if (!isJsonObject(meta)) throw invalidParams(`params._meta must be an object with ${META_PROTOCOL_VERSION}.`, 400);
  const version = (meta as JsonObject)[META_PROTOCOL_VERSION];
  if (header !== null && typeof version === "string" && header !== version) {
    throw headerMismatch(`The MCP-Protocol-Version header and params._meta["${META_PROTOCOL_VERSION}"] differ.`);
  }
  const dialect = modernDialect(meta as JsonObject);
  if (header === null) throw headerMismatch("The MCP-Protocol-Version header is missing.");
  return dialect;
}

function modernDialect(meta: JsonObject): Dialect {
  const { [META_PROTOCOL_VERSION]: version, [META_CLIENT_CAPABILITIES]: clientCapabilities } = meta;
  if (typeof version !== "string")
    throw invalidParams(`params._meta["${META_PROTOCOL_VERSION}"] must be a string.`, 400);
  if (!MODERN_VERSIONS.includes(version)) {
    throw new McpError({
      status: 400,
      rpcCode: RPC.unsupportedVersion,
      message: `Unsupported protocol version; supported: ${MODERN_VERSIONS.join(", ")}.`,
      data: { supported: MODERN_VERSIONS, requested: version },
    });
  }
  if (!isJsonObject(clientCapabilities)) {
    throw invalidParams(`params._meta["${META_CLIENT_CAPABILITIES}"] must be an object.`, 400);
  }
  return { era: "modern", protocolVersion: version, clientCapabilities, meta };
}
