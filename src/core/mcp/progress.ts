import type { JsonObject } from "../json.ts";
import { messageEvent } from "./event-stream.ts";
import type { CallContext } from "./provider.ts";

/** The token a client put into `_meta.progressToken`, or `null` where it wants no progress. */
export function progressToken(meta: JsonObject): string | number | null {
  const token = meta.progressToken;
  return typeof token === "string" || Number.isSafeInteger(token) ? (token as string | number) : null;
}

/** Writes what a call reports as `notifications/progress`; a value that does not grow is dropped (basic/utilities/progress). */
export function progressNotifier(token: string | number, write: (json: string) => void): CallContext["progress"] {
  let last = Number.NEGATIVE_INFINITY;
  return (progress, total, message) => {
    if (!(progress > last)) return;
    last = progress;
    const params = {
      progressToken: token,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    };
    write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }));
  };
}

/** Events waiting for a slow reader; later progress is dropped, the answer never. */
const MAX_QUEUED = 64;

/**
 * The server-sent events of one call: progress notifications, then the answer. Nothing is streamed until there is progress.
 * Notifications after the answer or with a value that does not grow are dropped.
 */
export class ProgressChannel {
  /** Settles when the first notification is sent. */
  readonly opened: Promise<"stream">;
  readonly readable: ReadableStream<Uint8Array>;
  #open: () => void = () => {};
  readonly #notify: CallContext["progress"];
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  /** @param cancelled called when the client goes away while the answer is a stream. */
  constructor(token: string | number, cancelled: () => void) {
    this.#notify = progressNotifier(token, (json) => {
      this.#write(json);
      this.#open();
    });
    this.opened = new Promise((resolve) => {
      this.#open = () => resolve("stream");
    });
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => {
          this.#controller = null;
          cancelled();
        },
      },
      { highWaterMark: MAX_QUEUED },
    );
  }

  readonly send: CallContext["progress"] = (progress, total, message) => {
    if ((this.#controller?.desiredSize ?? 0) > 0) this.#notify(progress, total, message);
  };

  /** Sends the answer as the last event. */
  finish(text: string): void {
    this.#write(text);
    this.close();
  }

  /** Ends the channel; whatever comes later is dropped. */
  close(): void {
    this.#controller?.close();
    this.#controller = null;
  }

  #write(json: string): void {
    this.#controller?.enqueue(this.#encoder.encode(messageEvent(json)));
  }
}
