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

/** The same, after which the stream can be resumed. @param id what `Last-Event-ID` says then: one line. */
export function resumableEvent(json: string, id: string): string {
  return `id: ${id}\n${messageEvent(json)}`;
}
