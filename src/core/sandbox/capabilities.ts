import type { Json } from "../json.ts";

/** What `host.fetchOrigin(path, opts?)` gives a tool. */
export interface FetchOriginAnswer {
  readonly status: number;
  /** UTF-8 text, cut on a code-point boundary at the response limit. */
  readonly body: string;
  readonly truncated: boolean;
  /** Bytes of the body that were read and kept. */
  readonly bytes: number;
  readonly contentLength: number | null;
}

export interface MemoryHit {
  readonly text: string;
  readonly score: number;
  readonly title: string;
  readonly concept_id: string;
}

/** Calls of an embedder's actions in one tool call, all of them together. */
export const MAX_ACTION_CALLS = 50;

/** An action of the program that embeds the sandbox. Its parameters are untrusted guest JSON; `signal` ends with the call. */
export type Action = (parameters: readonly Json[], signal: AbortSignal) => Json | Promise<Json>;

/** The guest's account for work that the host does for it. */
export interface SearchMeter {
  /** Takes units of gas. Throws when none are left, and the guest ends: nothing more need be done for it. */
  charge(gas: number): void;
  /** Ends with the call. */
  readonly signal: AbortSignal;
}

/**
 * The named actions a tool may ask of the host during one call. A rejected promise (or a throw) surfaces in the guest as
 * an `Error` with that message, so messages must be fit for a guest to see. An absent member is an absent capability.
 */
export interface Capabilities {
  /** Arguments are untrusted guest JSON: `opts` may be anything. `signal` ends with the call. */
  readonly fetchOrigin?: (path: string, opts: Json | undefined, signal: AbortSignal) => Promise<FetchOriginAnswer>;
  /** Answers at once, or with a promise where the index has yet to be built. What it costs is charged through `meter`. */
  readonly memorySearch?: (
    query: string,
    k: number,
    meter: SearchMeter,
  ) => readonly MemoryHit[] | Promise<readonly MemoryHit[]>;
  /** The embedder's own, by the names that its sandbox was made with. Answers are charged to the guest's gas by their size. */
  readonly actions?: ReadonlyMap<string, Action>;
}
