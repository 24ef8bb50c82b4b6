import { DurableObject } from "cloudflare:workers";
import type { Env } from "../env.ts";
import { KEPT_EVENTS, type LiveEvent, MAX_STREAMS, STREAM_MS } from "../live/live-event.ts";
import type { AuditAction } from "../registry/audit.ts";

/** So often something is sent, so that nobody on the way takes the stream for dead. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT = ": \n\n";
/** Bytes that may wait for a slow reader; past them its stream ends, and the next one goes on from what is kept. */
const WAITING_BYTES = 256 * 1_024;
/** A browser opens the next stream after this long, milliseconds. */
const RETRY_MS = 2_000;
/** The same after its stream gave way to a newer one: at once, it would push that one's neighbour out, and so on round and round. */
const DISPLACED_RETRY_MS = 30_000;
const HEADERS = { "Content-Type": "text/event-stream", "Cache-Control": "no-store" };

/** After these somebody may be signed in no more: every stream ends, and whoever opens the next one is judged anew. */
const SIGNS_OUT: ReadonlySet<string> = new Set<AuditAction>([
  "operator.update",
  "operator.token.revoke",
  "session.end",
  "bootstrap.retire",
]);

/** The life of the object that gave it, and its number. */
const EVENT_ID = /^([0-9a-f]{8})-(\d{1,15})$/;

const encoder = new TextEncoder();

interface KeptEvent {
  readonly number: number;
  readonly text: string;
}

interface Stream {
  readonly actor: string;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  readonly timer: ReturnType<typeof setTimeout>;
}

/**
 * One object for the deployment: hands on what happens to the operators who watch, as server-sent events. Nothing is stored: an object that
 * begins anew tells the streams that go on that it did (`reset`), and their readers look at everything again.
 */
export class LiveFeed extends DurableObject<Env> {
  /** Tells this life of the object from others: event numbers begin anew in each. */
  readonly #life = crypto.randomUUID().slice(0, 8);
  readonly #streams = new Set<Stream>();
  #kept: KeptEvent[] = [];
  #published = 0;
  #heartbeat: ReturnType<typeof setInterval> | null = null;

  publish(event: LiveEvent): void {
    this.#published += 1;
    const { type, ...fields } = event;
    const kept = { number: this.#published, text: this.#write(this.#published, type, fields) };
    this.#kept.push(kept);
    if (this.#kept.length > KEPT_EVENTS) this.#kept = this.#kept.slice(-KEPT_EVENTS);
    const endsAll = event.type === "audit" && SIGNS_OUT.has(event.action);
    for (const stream of this.#streams) {
      if (endsAll) this.#end(stream);
      else this.#send(stream, kept.text);
    }
  }

  /** Opens a stream for the operator named in `?actor=`. Only the gateway itself can ask; it has checked who that is. */
  override async fetch(request: Request): Promise<Response> {
    const actor = new URL(request.url).searchParams.get("actor") ?? "";
    this.#makeRoom(actor);
    const begin = this.#beginning(request.headers.get("Last-Event-ID"));
    let opened: Stream | undefined;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          opened = { actor, controller, timer: setTimeout(() => opened && this.#end(opened), STREAM_MS) };
          this.#streams.add(opened);
          this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS);
          this.#send(opened, begin);
        },
        cancel: () => opened && this.#forget(opened),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: WAITING_BYTES }),
    );
    return new Response(body, { headers: HEADERS });
  }

  /**
   * Ends the oldest stream of an operator who has as many as one may have. That a reader is gone is found when something is written to it: here
   * also, so that a page that is loaded again and again leaves no more than one place behind that nobody reads.
   */
  #makeRoom(actor: string): void {
    const open = [...this.#streams].filter((stream) => stream.actor === actor);
    const [oldest] = open;
    if (oldest !== undefined && open.length >= MAX_STREAMS) {
      this.#send(oldest, `retry: ${DISPLACED_RETRY_MS}\nevent: displaced\ndata: {}\n\n`);
      this.#end(oldest);
    }
    for (const stream of open) if (this.#streams.has(stream)) this.#send(stream, HEARTBEAT);
  }

  /** What a stream starts with: what its reader missed, or that it must look at everything again. */
  #beginning(lastEventId: string | null): string {
    const start = `retry: ${RETRY_MS}\n`;
    const [, life, seen] = EVENT_ID.exec(lastEventId ?? "") ?? [];
    const missed = this.#published - Number(seen);
    const isKept = life === this.#life && missed >= 0 && missed <= this.#kept.length;
    if (lastEventId === null || isKept) {
      const texts = lastEventId === null || missed === 0 ? [] : this.#kept.slice(-missed).map(({ text }) => text);
      return start + [...texts, this.#write(this.#published, "ready", {})].join("");
    }
    return start + this.#write(this.#published, "reset", {});
  }

  #write(number: number, type: string, fields: object): string {
    return `id: ${this.#life}-${number}\nevent: ${type}\ndata: ${JSON.stringify(fields)}\n\n`;
  }

  #send(stream: Stream, text: string): void {
    if ((stream.controller.desiredSize ?? 0) <= 0) {
      this.#end(stream);
      return;
    }
    try {
      stream.controller.enqueue(encoder.encode(text));
    } catch {
      // Its reader is gone.
      this.#forget(stream);
    }
  }

  #beat(): void {
    for (const stream of this.#streams) this.#send(stream, HEARTBEAT);
  }

  #end(stream: Stream): void {
    this.#forget(stream);
    try {
      stream.controller.close();
    } catch {
      // It ended by itself.
    }
  }

  #forget(stream: Stream): void {
    clearTimeout(stream.timer);
    this.#streams.delete(stream);
    if (this.#streams.size > 0 || this.#heartbeat === null) return;
    clearInterval(this.#heartbeat);
    this.#heartbeat = null;
  }
}
