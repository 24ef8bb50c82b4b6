import type { Sha256Hex } from "../../core/integrity.ts";
import type { ListKind } from "../../core/mcp/subscriptions.ts";
import type { ListsSeen } from "./lists-seen.ts";

/** What a client has seen of its lists as far as anybody knows, each by its SHA-256; `null`: perhaps what was before a change. */
export type ListsKnown = Readonly<Record<ListKind, Sha256Hex | null>>;

export const NOTHING_KNOWN: ListsKnown = { tools: null, resources: null };

export function isSame(one: ListsKnown, other: ListsKnown): boolean {
  return one.tools === other.tools && one.resources === other.resources;
}

/** What is known of a client that has seen one or the other. */
export function knownOfEither(one: ListsKnown, other: ListsKnown): ListsKnown {
  return {
    tools: one.tools === other.tools ? one.tools : null,
    resources: one.resources === other.resources ? one.resources : null,
  };
}

const EVENT_ID = /^([0-9a-f]{64})\.([0-9a-f]{64})$/;

/** The `id` of the event after which a client knows these lists. Its next stream says it as `Last-Event-ID`. */
export function eventIdOf({ tools, resources }: ListsSeen): string {
  return `${tools}.${resources}`;
}

/** @returns `null` where it is no {@link eventIdOf} anything. */
export function readEventId(lastEventId: string | undefined): ListsSeen | null {
  const [, tools, resources] = EVENT_ID.exec(lastEventId ?? "") ?? [];
  return tools === undefined || resources === undefined
    ? null
    : { tools: tools as Sha256Hex, resources: resources as Sha256Hex };
}
