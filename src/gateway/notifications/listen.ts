import type { Context } from "hono";
import { STREAM_HEADERS } from "../../core/mcp/event-stream.ts";
import { ASSUMED_VERSION, MODERN_VERSIONS, SERVED_VERSIONS } from "../../core/mcp/revisions.ts";
import { completeAnswer } from "../answer-headers.ts";
import { GatewayError } from "../errors.ts";
import type { GatewayContext } from "../request-context.ts";
import type { Step } from "../steps.ts";
import type { Opening } from "./change-stream.ts";
import { readEventId } from "./lists-known.ts";
import { openStream } from "./tell-notifier.ts";

/** Opens the stream of a client at the origin of its request. @throws {GatewayError} as {@link openStream}. */
export function listen(
  c: Context<GatewayContext>,
  subscription: Opening["subscription"],
): Promise<ReadableStream<Uint8Array>> {
  const { clientId } = c.get("client");
  const lastSeen = subscription === null ? readEventId(c.req.header("Last-Event-ID")) : null;
  const listener = { origin: c.get("origin"), tokenSha256: c.get("tokenSha256") };
  return openStream(c.env, { ...listener, clientId, subscription, lastSeen });
}

/** Answers a legacy client's GET with the stream on which it is told of changed lists (MCP 2025-06-18, 2025-11-25 basic/transports). */
export const answerStream: Step = async (c) => completeAnswer(c, await listen(c, null), 200, STREAM_HEADERS);

/**
 * Whether a GET asks for that stream. A client that speaks 2026-07-28 has `subscriptions/listen`.
 *
 * @throws {GatewayError} `bad_header` for a version that is not served.
 */
export function asksForStream(c: Context<GatewayContext>): boolean {
  const accept = c.req.header("Accept") ?? "";
  if (c.req.method !== "GET" || !c.get("settings").notifications || !/text\/event-stream/i.test(accept)) return false;
  const version = c.req.header("MCP-Protocol-Version") ?? ASSUMED_VERSION;
  if (SERVED_VERSIONS.includes(version)) return !MODERN_VERSIONS.includes(version);
  throw new GatewayError("bad_header", {
    message: `The MCP-Protocol-Version header names an unsupported version; supported: ${SERVED_VERSIONS.join(", ")}.`,
  });
}
