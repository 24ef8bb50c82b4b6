import { isJsonObject, type JsonObject } from "../json.ts";
import { invalidParams } from "./errors.ts";
import type { RequestId } from "./framing.ts";
import type { Provider } from "./provider.ts";
import { META_SERVER_INFO, META_SUBSCRIPTION_ID } from "./revisions.ts";

/** Open at once on one connection. */
const MAX_SUBSCRIPTIONS = 64;

/** The lists of which a client can be told that they changed. */
export type ListKind = "tools" | "resources";

export const LIST_KINDS: readonly ListKind[] = ["tools", "resources"];

/**
 * What the `subscriptions/listen` request of a modern client wants to be told of, and can be (2026-07-28 basic/patterns/subscriptions).
 *
 * @throws McpError -32602.
 */
export function wantedLists({ notifications: wanted }: JsonObject): readonly ListKind[] {
  if (!isJsonObject(wanted)) throw invalidParams("params.notifications must be an object.");
  return LIST_KINDS.filter((kind) => {
    const value = wanted[`${kind}ListChanged`];
    if (value !== undefined && typeof value !== "boolean") {
      throw invalidParams(`params.notifications.${kind}ListChanged must be a boolean.`);
    }
    return value === true;
  });
}

/** The first message of a subscription: what of it is kept. */
export function acknowledgement(id: RequestId, kinds: readonly ListKind[]): string {
  const notifications = Object.fromEntries(kinds.map((kind) => [`${kind}ListChanged`, true]));
  return notification("notifications/subscriptions/acknowledged", { notifications, ...tagOf(id) });
}

/**
 * That a list changed.
 *
 * @param id of the subscription; `null` for legacy clients, who ask for nothing.
 */
export function listChange(kind: ListKind, id: RequestId | null): string {
  return notification(`notifications/${kind}/list_changed`, id === null ? undefined : tagOf(id));
}

/** The last message of a subscription: its result. */
export function subscriptionEnd(id: RequestId, serverInfo: Provider["serverInfo"]): string {
  const _meta = { [META_SUBSCRIPTION_ID]: id, [META_SERVER_INFO]: serverInfo };
  return JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", _meta } });
}

function tagOf(id: RequestId): JsonObject {
  return { _meta: { [META_SUBSCRIPTION_ID]: id } };
}

function notification(method: string, params: JsonObject | undefined): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}

/** The `subscriptions/listen` requests of one modern connection, by their ids. */
export class Subscriptions {
  readonly #open = new Map<RequestId, readonly ListKind[]>();
  readonly #send: (text: string) => void;
  readonly #serverInfo: Provider["serverInfo"];

  constructor(send: (text: string) => void, serverInfo: Provider["serverInfo"]) {
    this.#send = send;
    this.#serverInfo = serverInfo;
  }

  /**
   * Opens one, and acknowledges what of it can be kept; it has ended at once where that is nothing.
   *
   * @throws McpError -32602.
   */
  open(id: RequestId, params: JsonObject): void {
    const kinds = wantedLists(params);
    if (this.#open.has(id)) throw invalidParams("A subscription of this id is open.");
    if (this.#open.size >= MAX_SUBSCRIPTIONS) {
      throw invalidParams(`At most ${MAX_SUBSCRIPTIONS} subscriptions may be open at once.`);
    }
    this.#send(acknowledgement(id, kinds));
    this.#open.set(id, kinds);
    if (kinds.length === 0) this.#end(id);
  }

  /** The client is no longer interested: nothing more is sent of it. */
  cancel(id: RequestId): void {
    this.#open.delete(id);
  }

  listChanged(): void {
    for (const [id, kinds] of this.#open) for (const kind of kinds) this.#send(listChange(kind, id));
  }

  /** Ends all of them with their results. */
  close(): void {
    for (const id of [...this.#open.keys()]) this.#end(id);
  }

  #end(id: RequestId): void {
    this.#open.delete(id);
    this.#send(subscriptionEnd(id, this.#serverInfo));
  }
}
