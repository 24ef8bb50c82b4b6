import { bucketOf, EDGES_MS } from "../../core/latency-buckets.ts";

/** In place of a tool's name, where an origin has had too many in one hour. */
export const OTHER_TOOLS = "(other)";

/** Names that one origin's tools have in an hour; a publisher may change them with every release. */
export const MAX_TOOLS = 200;
/** Rows in memory, some 300 bytes each; past it nothing new is counted until they are written. */
export const MAX_ROWS = 4_000;

/** What is counted together. */
export interface UsageKey {
  /** Hours since the epoch. */
  readonly hour: number;
  readonly clientId: string;
  /** Empty: the call was refused before its origin was known. */
  readonly originId: string;
  /** Public name; empty: the call was refused before its tool was known. */
  readonly tool: string;
}

/** How one call ended. */
export interface CallEnd {
  /** Why it is an error: a code of the sandbox, or of the gateway where that refused it; `null`: it is none. */
  readonly kind: string | null;
  readonly gas: number;
  /** Milliseconds to the answer; `null`: the tool was not reached, so that there is nothing to time. */
  readonly ms: number | null;
}

export interface UsageRow extends UsageKey {
  readonly calls: number;
  readonly gas: number;
  /** By kind. */
  readonly errors: ReadonlyMap<string, number>;
  /** One for each of {@link EDGES_MS}, and one for what took longer; not cumulative. */
  readonly buckets: readonly number[];
}

type Counted = {
  -readonly [Key in "calls" | "gas"]: UsageRow[Key];
} & UsageKey & { readonly errors: Map<string, number>; readonly buckets: number[] };

/** Calls by client, origin, tool and hour in the memory of one isolate. No argument and no result is in it. */
export class UsageCounters {
  #rows = new Map<string, Counted>();
  #tools = new Map<string, Set<string>>();
  #toolsHour = 0;
  #dropped = 0;

  count(key: UsageKey, { kind, gas, ms }: CallEnd): void {
    const row = this.#row({ ...key, tool: this.#boundedTool(key) });
    if (row === null) return;
    row.calls += 1;
    row.gas += gas;
    if (kind !== null) row.errors.set(kind, (row.errors.get(kind) ?? 0) + 1);
    if (ms !== null) {
      const bucket = bucketOf(ms);
      row.buckets[bucket] = (row.buckets[bucket] ?? 0) + 1;
    }
  }

  /** Hands over everything since the last time. */
  take(): readonly UsageRow[] {
    const taken = [...this.#rows.values()];
    this.#rows = new Map();
    return taken;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Calls that found no room, since the last time this was asked. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  #row({ hour, clientId, originId, tool }: UsageKey): Counted | null {
    const name = `${hour} ${clientId} ${originId} ${tool}`;
    let row = this.#rows.get(name);
    if (row === undefined) {
      if (this.#rows.size >= MAX_ROWS) {
        this.#dropped += 1;
        return null;
      }
      row = {
        ...{ hour, clientId, originId, tool, calls: 0, gas: 0 },
        errors: new Map(),
        buckets: Array.from({ length: EDGES_MS.length + 1 }, () => 0),
      };
      this.#rows.set(name, row);
    }
    return row;
  }

  #boundedTool({ hour, originId, tool }: UsageKey): string {
    if (tool === "") return tool;
    if (hour !== this.#toolsHour) this.#tools.clear();
    this.#toolsHour = hour;
    const names = this.#tools.get(originId) ?? new Set();
    if (names.has(tool)) return tool;
    if (names.size >= MAX_TOOLS) return OTHER_TOOLS;
    names.add(tool);
    this.#tools.set(originId, names);
    return tool;
  }
}
