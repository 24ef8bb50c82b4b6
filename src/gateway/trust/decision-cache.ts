import type { CanonicalOrigin } from "../../core/origin.ts";
import { LruCache } from "../lru.ts";
import type { TrustInForce } from "../registry/trust.ts";
import type { Decided, OriginDecisions, OriginTerms } from "./decisions.ts";

/** Decisions about all origins in the memory of one isolate, of the 128 MB it has. */
const DECISIONS_BYTES = 12 * 1_048_576;

/** Reads what the versions in an origin's row stand for. */
export interface DecisionReader {
  readDecisions(terms: OriginTerms, origin: CanonicalOrigin): Promise<OriginDecisions>;
  readTrust(): Promise<TrustInForce>;
}

/** What a read of an origin's row says. */
export interface RowRead extends OriginTerms {
  /** When the read began, among all reads of the cache: see {@link DecisionCache.begin}. */
  readonly order: number;
}

interface Held<T> {
  readonly value: T;
  /** When its read began, as in {@link RowRead}. */
  readonly order: number;
}

/**
 * Decisions and trust in the memory of the isolate, one object for all clients. They have no age of their own: an origin's row, whose age
 * the policy cache minds, names their versions, and while these stand the same objects are given again. What was read after the row is
 * newer than what the row names, and is as good; what of two reads is the later one is told by their order, since clocks are set back.
 */
export class DecisionCache {
  readonly #reader: DecisionReader;
  readonly #decisions: LruCache<string, Held<OriginDecisions>>;
  #trust: Held<TrustInForce> | undefined;
  #begun = 0;
  #generation = 0;

  constructor(reader: DecisionReader, capacity = DECISIONS_BYTES) {
    this.#reader = reader;
    this.#decisions = new LruCache(capacity, ({ value }) => value.bytes);
  }

  forget(): void {
    this.#generation += 1;
    this.#decisions.clear();
    this.#trust = undefined;
  }

  /** The order of a read that begins now. */
  begin(): number {
    this.#begun += 1;
    return this.#begun;
  }

  /** What the row names, where it is in memory. */
  known({ originId, policyVersion, trustVersion, order }: RowRead): Decided | null {
    const decisions = usable(this.#decisions.get(originId), policyVersion, order);
    const trust = usable(this.#trust, trustVersion, order);
    return decisions === null || trust === null ? null : { decisions, trust };
  }

  /** What the row names, read as far as it is not in memory. */
  async load(row: RowRead, origin: CanonicalOrigin): Promise<Decided> {
    const { originId, policyVersion, trustVersion, order } = row;
    const generation = this.#generation;
    const begun = this.begin();
    const [decisions, trust] = await Promise.all([
      usable(this.#decisions.get(originId), policyVersion, order) ?? this.#reader.readDecisions(row, origin),
      usable(this.#trust, trustVersion, order) ?? this.#reader.readTrust(),
    ]);
    if (generation === this.#generation) {
      const held = this.#decisions.get(originId);
      if (isLater(held, decisions, begun)) this.#decisions.set(originId, { value: decisions, order: begun });
      if (isLater(this.#trust, trust, begun)) this.#trust = { value: trust, order: begun };
    }
    return { decisions, trust };
  }
}

function usable<T extends { readonly version: number }>(
  held: Held<T> | undefined,
  version: number,
  rowOrder: number,
): T | null {
  return held !== undefined && (held.value.version === version || held.order > rowOrder) ? held.value : null;
}

/** A slow read must not bring back what a later one has replaced. */
function isLater<T>(held: Held<T> | undefined, value: T, order: number): boolean {
  return held === undefined || (held.value !== value && order > held.order);
}
