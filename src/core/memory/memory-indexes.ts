import type { Sha256Hex } from "../integrity.ts";
import { ByteLru } from "../sandbox/image-cache.ts";
import { buildIndex, MAX_INDEX_BYTES } from "./index-builder.ts";
import type { MemoryIndex } from "./memory-index.ts";
import { SnapshotError } from "./snapshot-error.ts";

/** A verified snapshot. */
export interface Snapshot {
  readonly sha256: Sha256Hex;
  readonly bytes: Uint8Array;
}

/** Bytes of a snapshot that cost one unit of gas to index; 4 MiB take a fifth of a call's budget, and 60 to 100 ms. */
const BYTES_PER_GAS = 1;

/** What a snapshot that cannot be searched takes in the cache. */
const FAILURE_BYTES = 512;

/** Of how many indexes that were not kept it is known when they were built. */
const TURNED_AWAY = 256;

interface Build {
  readonly sha256: Sha256Hex;
  readonly slices: ReturnType<typeof buildIndex>;
}

/**
 * The indexes of an isolate, by the hash of their snapshots: each is built once, by the first search that needs it, and shared by
 * all calls while it is among the latest used; all of them together are bounded by `maximumBytes`. Where that does not suffice for what is
 * in use, a new one takes no other's place until it is needed again and the other was not meanwhile: else all would be built at each call.
 *
 * Building goes in slices of a few milliseconds with a turn of the event loop in between, so that other requests go on. One index is built at
 * a time, whose room is thus bounded. No search waits for another's promise, which may never settle where a request is cancelled:
 * whoever waits does the next slice of the build that is under way, whoever began it, until its own index is there.
 */
export class MemoryIndexes {
  readonly #ready: ByteLru<MemoryIndex | SnapshotError>;
  readonly #pause: () => Promise<void>;
  /** How often any index was asked for, as a clock; when each one was last used, and when those that were not kept were last built. */
  #uses = 0;
  readonly #usedAt = new Map<string, number>();
  readonly #turnedAway = new Map<string, number>();
  #building: Build | null = null;
  /** The last ones that were built while somebody waits, whose build another caller may have ended: the room of one more index. */
  #latest = newLru(MAX_INDEX_BYTES);
  #waiting = 0;

  /** @param pause gives other requests a turn. */
  constructor(maximumBytes = MAX_INDEX_BYTES, pause: () => Promise<void> = nextTurn) {
    this.#ready = newLru(maximumBytes);
    this.#pause = pause;
  }

  get bytes(): number {
    return this.#ready.bytes;
  }

  /** The index, where it is built. @throws {SnapshotError} where it is known that it cannot be. */
  get(sha256: Sha256Hex): MemoryIndex | undefined {
    const known = this.#ready.get(sha256);
    this.#uses += 1;
    if (known !== undefined) this.#usedAt.set(sha256, this.#uses);
    if (known instanceof SnapshotError) throw known;
    return known;
  }

  /**
   * Builds the index of a snapshot.
   *
   * @param charge is told the gas of each slice of this snapshot that this caller does; a throw of it ends the wait.
   * @param signal ends the wait.
   * @throws {SnapshotError}
   */
  async build(snapshot: Snapshot, charge: (gas: number) => void, signal: AbortSignal): Promise<MemoryIndex> {
    this.#waiting += 1;
    try {
      for (;;) {
        const ready = this.get(snapshot.sha256) ?? this.#justBuilt(snapshot.sha256);
        if (ready !== undefined) return ready;
        this.#building ??= { sha256: snapshot.sha256, slices: buildIndex(snapshot.bytes) };
        const own = this.#building.sha256 === snapshot.sha256;
        const { bytes, result } = this.#advance(this.#building);
        if (own) charge(bytes / BYTES_PER_GAS);
        // Taken from here: the cache may have no room for it.
        if (own && result !== null) {
          if (result instanceof SnapshotError) throw result;
          return result;
        }
        await this.#pause();
        signal.throwIfAborted();
      }
    } finally {
      this.#waiting -= 1;
      // What nobody waits for any more is not worth its room.
      if (this.#waiting === 0) {
        this.#building = null;
        this.#latest = newLru(MAX_INDEX_BYTES);
      }
    }
  }

  /** What another caller built to its end, where that was not kept. @throws {SnapshotError} */
  #justBuilt(sha256: Sha256Hex): MemoryIndex | undefined {
    const result = this.#latest.get(sha256);
    if (result instanceof SnapshotError) throw result;
    return result;
  }

  #advance(build: Build): { readonly bytes: number; readonly result: MemoryIndex | SnapshotError | null } {
    try {
      const { done, value } = build.slices.next();
      if (!done) return { bytes: value, result: null };
      this.#finish(build, value);
      return { bytes: 0, result: value };
    } catch (error) {
      this.#building = null;
      if (!(error instanceof SnapshotError)) throw error;
      this.#finish(build, error);
      return { bytes: 0, result: error };
    }
  }

  #finish({ sha256 }: Build, result: MemoryIndex | SnapshotError): void {
    this.#building = null;
    this.#latest.set(sha256, result);
    const displaced = this.#ready.displacedBy(result);
    const since = this.#turnedAway.get(sha256) ?? 0;
    this.#turnedAway.delete(sha256);
    if (displaced.length > 0 && !displaced.every((key) => (this.#usedAt.get(key) ?? 0) < since)) {
      this.#turnedAway.set(sha256, this.#uses);
      const [oldest] = this.#turnedAway.keys();
      if (this.#turnedAway.size > TURNED_AWAY && oldest !== undefined) this.#turnedAway.delete(oldest);
      return;
    }
    for (const key of displaced) this.#usedAt.delete(key);
    this.#ready.set(sha256, result);
    // One that is larger than the bound is not kept.
    if (this.#ready.get(sha256) !== undefined) this.#usedAt.set(sha256, this.#uses);
  }
}

function newLru(maximumBytes: number): ByteLru<MemoryIndex | SnapshotError> {
  return new ByteLru(maximumBytes, (index) => (index instanceof SnapshotError ? FAILURE_BYTES : index.bytes));
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
