/** What every answer that is a stream of server-sent events says of itself. */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** One JSON-RPC message as a server-sent event. */
export function messageEvent(json: string): string {
  return `event: message\ndata: ${json}\n\n`;
}
