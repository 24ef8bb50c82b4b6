import type { Sha256Hex } from "../../core/integrity.ts";
import { LruCache } from "../lru.ts";
import { type PackedRelease, packedBytes, type ReleaseHead, unpackRelease } from "../releases/packed-release.ts";
import type { Followed } from "../trust/trusted-release.ts";
import type { DeferredWrites } from "./deferred-writes.ts";
import type { HubAnswer, HubState } from "./hub-answer.ts";
import { ReleaseStore } from "./release-store.ts";

/** Releases of all hubs that happen to live in one isolate, together; what does not fit is read from storage when it is asked for. */
const MEMORY_BYTES = 8 * 1_048_576;
const inMemory = new LruCache<string, PackedRelease>(MEMORY_BYTES, packedBytes);

/** For tests: what is then served comes from storage. */
export function forgetHeldReleases(): void {
  inMemory.clear();
}

/** The release that one hub holds: its head in the object, its bytes in the isolate's memory or in the object's storage, which is a cache. */
export class HeldRelease {
  readonly #key: string;
  readonly #store: ReleaseStore;
  readonly #writes: DeferredWrites;
  #head: ReleaseHead | null;

  /** @param key of the object, by which its bytes are known in the isolate. */
  constructor(key: string, storage: DurableObjectStorage, writes: DeferredWrites) {
    this.#key = key;
    this.#store = new ReleaseStore(storage);
    this.#writes = writes;
    this.#head = this.#store.head();
  }

  /** `null`: nothing is held. */
  get head(): ReleaseHead | null {
    return this.#head;
  }

  /** Milliseconds. A release of the future, which a clock that was set back leaves behind, is of unknown age. */
  age(): number {
    const age = this.#head === null ? -1 : Date.now() - this.#head.fetchedAt;
    return age < 0 ? Number.POSITIVE_INFINITY : age;
  }

  /** What is held, or `null` where nothing is, or its bytes are lost. */
  answer(state: HubState, knownVersion: string | null): HubAnswer | null {
    const head = this.#head;
    if (head === null) return null;
    if (head.version === knownVersion) return { ok: true, state, ...head, packed: null };
    const packed = this.packed();
    if (packed !== null) return answerOf(state, packed, knownVersion);
    this.keep(null);
    return null;
  }

  packed(): PackedRelease | null {
    const head = this.#head;
    if (head === null) return null;
    const known = inMemory.get(this.#key);
    if (known?.version === head.version) return { ...known, ...head };
    this.#writes.now();
    try {
      const packed = this.#store.load();
      if (packed?.version !== head.version) return null;
      inMemory.set(this.#key, packed);
      return packed;
    } catch (error) {
      console.error(JSON.stringify({ event: "release_not_read", error: String(error) }));
      return null;
    }
  }

  followed(): Followed | null {
    const packed = this.packed();
    return packed === null ? null : { release: unpackRelease(packed), policyVersion: packed.policyVersion };
  }

  /** Bytes that are held under their hash. */
  bytes(sha256: Sha256Hex): Uint8Array | undefined {
    const known = inMemory.get(this.#key)?.artifacts.get(sha256);
    if (known !== undefined || this.#head === null) return known;
    this.#writes.now();
    try {
      return this.#store.artifact(sha256);
    } catch {
      return undefined;
    }
  }

  /** @param packed `null`: nothing is held any more. That is written down at once: what was withdrawn must not come back with the next object. */
  keep(packed: PackedRelease | null): void {
    if (packed === null) {
      this.#head = null;
      inMemory.delete(this.#key);
    } else {
      this.#head = headOf(packed);
      inMemory.set(this.#key, packed);
    }
    this.#writes.later(() => {
      try {
        if (packed === null) this.#store.clear();
        else this.#store.save(packed);
      } catch (error) {
        console.error(JSON.stringify({ event: "release_not_stored", error: String(error) }));
      }
    });
    if (packed === null) this.#writes.now();
  }
}

/** @param knownVersion what the caller holds: its bytes are then not sent again. */
export function answerOf(state: HubState, packed: PackedRelease, knownVersion: string | null): HubAnswer {
  return { ok: true, state, ...headOf(packed), packed: packed.version === knownVersion ? null : packed };
}

function headOf({ version, fetchedAt, policyVersion }: ReleaseHead): ReleaseHead {
  return { version, fetchedAt, policyVersion };
}
