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

interface Build {
  readonly sha256: Sha256Hex;
  readonly slices: ReturnType<typeof buildIndex>;
}

/**
 * The indexes of an isolate, by the hash of their snapshots: each is built once, by the first search that needs it, and shared by
 * all calls while it is among the latest used; all of them together are bounded by `maximumBytes`.
 *
 * Building goes in slices of a few milliseconds with a turn of the event loop in between, so that other requests go on. One index is built at
 * a time, whose room is thus bounded. No search waits for another's promise, which may never settle where a request is cancelled:
 * whoever waits does the next slice of the build that is under way, whoever began it, until its own index is there.
 */
export class MemoryIndexes {
  readonly #ready: ByteLru<MemoryIndex | SnapshotError>;
  readonly #pause: () => Promise<void>;
  #building: Build | null = null;
  #waiting = 0;

  /** @param pause gives other requests a turn. */
  constructor(maximumBytes = MAX_INDEX_BYTES, pause: () => Promise<void> = nextTurn) {
    this.#ready = new ByteLru(maximumBytes, (index) => (index instanceof SnapshotError ? FAILURE_BYTES : index.bytes));
    this.#pause = pause;
  }

  get bytes(): number {
    return this.#ready.bytes;
  }

  /** The index, where it is built. @throws {SnapshotError} where it is known that it cannot be. */
  get(sha256: Sha256Hex): MemoryIndex | undefined {
    const known = this.#ready.get(sha256);
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
        const ready = this.get(snapshot.sha256);
        if (ready !== undefined) return ready;
        this.#building ??= { sha256: snapshot.sha256, slices: buildIndex(snapshot.bytes) };
        const own = this.#building.sha256 === snapshot.sha256;
        const { bytes, index } = this.#advance(this.#building);
        if (own) charge(bytes / BYTES_PER_GAS);
        // Taken from here: the cache may have no room for it.
        if (own && index !== null) return index;
        await this.#pause();
        signal.throwIfAborted();
      }
    } finally {
      this.#waiting -= 1;
      // What nobody waits for any more is not worth its room.
      if (this.#waiting === 0) this.#building = null;
    }
  }

  #advance(build: Build): { readonly bytes: number; readonly index: MemoryIndex | null } {
    try {
      const { done, value } = build.slices.next();
      if (!done) return { bytes: value, index: null };
      this.#finish(build, value);
      return { bytes: 0, index: value };
    } catch (error) {
      this.#building = null;
      if (!(error instanceof SnapshotError)) throw error;
      this.#finish(build, error);
      return { bytes: 0, index: null };
    }
  }

  #finish({ sha256 }: Build, result: MemoryIndex | SnapshotError): void {
    this.#building = null;
    this.#ready.set(sha256, result);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
