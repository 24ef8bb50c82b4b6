import type { JsonObject } from "../json.ts";

/** A caller's place in its trace (W3C Trace Context, Recommendation 2021, §3.2). */
export interface TraceParent {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** The header's value as it came. */
  readonly text: string;
}

const TRACE_PARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * The `traceparent` that a client put into `params._meta`, or `null` where there is none of version 00 in exactly the standard's form.
 * It is the caller's word and names nothing but the caller's own trace.
 */
export function traceParent(params: JsonObject): TraceParent | null {
  const meta = params._meta as JsonObject | undefined;
  const text = typeof meta === "object" && meta !== null ? meta.traceparent : undefined;
  if (typeof text !== "string") return null;
  const traceId = TRACE_PARENT.exec(text)?.[1];
  return traceId === undefined ? null : { traceId, text };
}
