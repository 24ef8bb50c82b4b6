import { messageEvent, resumableEvent } from "../../core/mcp/event-stream.ts";
import type { RequestId } from "../../core/mcp/framing.ts";
import {
  acknowledgement,
  LIST_KINDS,
  type ListKind,
  listChange,
  subscriptionEnd,
} from "../../core/mcp/subscriptions.ts";
import { SERVER_INFO } from "../server-info.ts";
import { eventIdOf, type ListsKnown } from "./lists-known.ts";
import type { Listener, ListsSeen } from "./lists-seen.ts";

/** Bytes that may wait for a slow reader; past them its stream ends. */
const WAITING_BYTES = 16 * 1_024;
const HEARTBEAT = ": keep-alive\n\n";

const encoder = new TextEncoder();

/** Who opens a stream, in which form. */
export interface Opening extends Listener {
  readonly clientId: string;
  /** `null`: the stream of a legacy client, which is told of everything. */
  readonly subscription: { readonly id: RequestId; readonly kinds: readonly ListKind[] } | null;
  /** What a legacy client says that it was told last, by its `Last-Event-ID`; `null`: it says nothing of the kind. */
  readonly lastSeen: ListsSeen | null;
}

/** Why a stream ended. */
export type StreamEnd = "time" | "signed_out" | "displaced" | "closed" | "slow" | "policy_unavailable";

interface Life {
  /** Epoch milliseconds. */
  readonly openedAt: number;
  readonly endsAt: number;
  readonly seen: ListsKnown;
  onEnd(stream: ChangeStream, reason: StreamEnd): void;
}

/** The server-sent events that tell one client which of its lists changed, in the form of its era. */
export class ChangeStream {
  readonly opening: Opening;
  readonly openedAt: number;
  readonly endsAt: number;
  readonly body: ReadableStream<Uint8Array>;
  /** How many changes were told. */
  told = 0;
  #seen: ListsKnown;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  readonly #onEnd: Life["onEnd"];

  constructor(opening: Opening, { openedAt, endsAt, seen, onEnd }: Life) {
    this.opening = opening;
    this.openedAt = openedAt;
    this.endsAt = endsAt;
    this.#seen = seen;
    this.#onEnd = onEnd;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#over("closed"),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: WAITING_BYTES }),
    );
    const { subscription } = opening;
    if (subscription === null) this.beat();
    else this.#send(messageEvent(acknowledgement(subscription.id, subscription.kinds)));
  }

  /** What its client was last told of. */
  get seen(): ListsKnown {
    return this.#seen;
  }

  get isOpen(): boolean {
    return this.#controller !== null;
  }

  /** Says that the stream lives. Where its reader is gone, it is over. */
  beat(): void {
    this.#send(HEARTBEAT);
  }

  /** @param ms after which the reader may open another stream, as server-sent events say it. */
  retryAfter(ms: number): void {
    this.#send(`retry: ${ms}\n\n`);
  }

  /**
   * Tells which lists are others than its client saw.
   *
   * @param isSettled whether the client sees them wherever it asks; else it is told again.
   */
  tell(now: ListsSeen, isSettled: boolean): void {
    const { subscription } = this.opening;
    const before = this.#seen;
    if (isSettled) this.#seen = now;
    const changed = (subscription?.kinds ?? LIST_KINDS).filter((kind) => before[kind] !== now[kind]);
    for (const kind of changed) {
      this.told += 1;
      // Whoever was told of all of it says so when it listens again. Modern streams cannot be resumed.
      const isKnown = subscription === null && isSettled && kind === changed.at(-1);
      const change = listChange(kind, subscription?.id ?? null);
      this.#send(isKnown ? resumableEvent(change, eventIdOf(now)) : messageEvent(change));
    }
  }

  end(reason: StreamEnd): void {
    const controller = this.#controller;
    if (controller === null) return;
    const { subscription } = this.opening;
    try {
      if (subscription !== null) {
        controller.enqueue(encoder.encode(messageEvent(subscriptionEnd(subscription.id, SERVER_INFO))));
      }
      controller.close();
    } catch {
      // It ended by itself.
    }
    this.#over(reason);
  }

  #send(text: string): void {
    const controller = this.#controller;
    if (controller === null) return;
    if ((controller.desiredSize ?? 0) <= 0) {
      this.end("slow");
      return;
    }
    try {
      controller.enqueue(encoder.encode(text));
    } catch {
      // Its reader is gone.
      this.#over("closed");
    }
  }

  #over(reason: StreamEnd): void {
    if (this.#controller === null) return;
    this.#controller = null;
    this.#onEnd(this, reason);
  }
}
