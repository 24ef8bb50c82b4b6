import { isJsonObject, type JsonObject } from "../json.ts";
import { invalidParams } from "./errors.ts";
import type { RequestId } from "./framing.ts";
import type { Provider } from "./provider.ts";
import { META_SERVER_INFO, META_SUBSCRIPTION_ID } from "./revisions.ts";

/** Open at once on one connection. */
const MAX_SUBSCRIPTIONS = 64;

/** The lists that a client can ask to be told of, and what it is told. */
const CHANGES = [
  ["toolsListChanged", "notifications/tools/list_changed"],
  ["resourcesListChanged", "notifications/resources/list_changed"],
] as const;

/** What legacy clients are told, who ask for nothing. */
export const LIST_NOTIFICATIONS: readonly string[] = CHANGES.map(([, method]) => method);

/** The `subscriptions/listen` requests of one modern connection (2026-07-28 basic/patterns/subscriptions), by their ids. */
export class Subscriptions {
  readonly #open = new Map<RequestId, readonly string[]>();
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
  open(id: RequestId, { notifications: wanted }: JsonObject): void {
    if (!isJsonObject(wanted)) throw invalidParams("params.notifications must be an object.");
    if (this.#open.has(id)) throw invalidParams("A subscription of this id is open.");
    if (this.#open.size >= MAX_SUBSCRIPTIONS) {
      throw invalidParams(`At most ${MAX_SUBSCRIPTIONS} subscriptions may be open at once.`);
    }
    for (const [name] of CHANGES) {
      if (wanted[name] !== undefined && typeof wanted[name] !== "boolean") {
        throw invalidParams(`params.notifications.${name} must be a boolean.`);
      }
    }
    const kept = CHANGES.filter(([name]) => wanted[name] === true);
    const notifications = Object.fromEntries(kept.map(([name]) => [name, true]));
    this.#notify("notifications/subscriptions/acknowledged", id, { notifications });
    this.#open.set(
      id,
      kept.map(([, method]) => method),
    );
    if (kept.length === 0) this.#end(id);
  }

  /** The client is no longer interested: nothing more is sent of it. */
  cancel(id: RequestId): void {
    this.#open.delete(id);
  }

  listChanged(): void {
    for (const [id, methods] of this.#open) for (const method of methods) this.#notify(method, id, {});
  }

  /** Ends all of them with their results. */
  close(): void {
    for (const id of [...this.#open.keys()]) this.#end(id);
  }

  #end(id: RequestId): void {
    this.#open.delete(id);
    const _meta = { [META_SUBSCRIPTION_ID]: id, [META_SERVER_INFO]: this.#serverInfo };
    this.#send(JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", _meta } }));
  }

  #notify(method: string, id: RequestId, params: JsonObject): void {
    const tagged = { ...params, _meta: { [META_SUBSCRIPTION_ID]: id } };
    this.#send(JSON.stringify({ jsonrpc: "2.0", method, params: tagged }));
  }
}
