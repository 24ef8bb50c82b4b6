import type { ToolDefinition } from "../skill.ts";
import type { Checked } from "./checked.ts";

/** A failure may depend on the moment, since a script can read the clock: it is believed for this long, milliseconds. */
export const FAILURE_BELIEVED_MS = 600_000;

/** Longest ETag that is sent back. */
const ETAG_LENGTH = 256;
/** An entity tag of RFC 9110 §8.8.3, in ASCII. */
const ETAG = /^(?:W\/)?"[\x21\x23-\x7e]*"$/;

/** A file that declares no hash, as the origin last sent it. */
export interface HeldDocument {
  readonly etag: string;
  readonly bytes: Uint8Array;
}

interface ReadDefinition {
  readonly result: Checked<ToolDefinition>;
  /** Epoch milliseconds. */
  readonly readAt: number;
}

/**
 * What the discoveries of one origin leave for the next one of it, in memory: its few documents with an ETag, and what reading each
 * script gave. Definitions are kept from one discovery to the next only, so they are bounded as a release is.
 */
export class DiscoveryCache {
  readonly #now: () => number;
  readonly #documents = new Map<string, HeldDocument>();
  #definitions = new Map<string, ReadDefinition>();
  #next = new Map<string, ReadDefinition>();
  /** Gas that did not suffice for a script; one discovery ended before it was given more. */
  #tooLittle = new Map<string, number>();
  #nextTooLittle = new Map<string, number>();
  /** Files that had another hash than declared, and contradictions, though `llms.txt` was read again. */
  #confirmed: ReadonlySet<string> = new Set();

  /** @param now epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  document(url: string): HeldDocument | undefined {
    return this.#documents.get(url);
  }

  /** @param etag as the origin sent it; without a usable one the document is forgotten. */
  keepDocument(url: string, etag: string | null, bytes: Uint8Array): void {
    if (etag !== null && etag.length <= ETAG_LENGTH && ETAG.test(etag)) this.#documents.set(url, { etag, bytes });
    else this.#documents.delete(url);
  }

  /** @param key names the script's bytes and what it must register. */
  definition(key: string): Checked<ToolDefinition> | undefined {
    const read = this.#next.get(key) ?? this.#definitions.get(key);
    if (read === undefined || (!read.result.ok && !this.#isBelieved(read))) return undefined;
    this.#next.set(key, read);
    return read.result;
  }

  keepDefinition(key: string, result: Checked<ToolDefinition>): void {
    this.#next.set(key, { result, readAt: this.#now() });
  }

  /** The most gas that is known not to suffice for reading a definition. */
  tooLittleGas(key: string): number {
    const gas = this.#nextTooLittle.get(key) ?? this.#tooLittle.get(key) ?? 0;
    if (gas > 0) this.#nextTooLittle.set(key, gas);
    return gas;
  }

  keepTooLittleGas(key: string, gas: number): void {
    this.#nextTooLittle.set(key, gas);
  }

  isConfirmed(mismatch: string): boolean {
    return this.#confirmed.has(mismatch);
  }

  /** Ends one discovery: what it did not use is forgotten. */
  turn(mismatches: ReadonlySet<string>): void {
    this.#confirmed = new Set(mismatches);
    this.#definitions = this.#next;
    this.#next = new Map();
    this.#tooLittle = this.#nextTooLittle;
    this.#nextTooLittle = new Map();
  }

  #isBelieved({ readAt }: ReadDefinition): boolean {
    return Math.abs(this.#now() - readAt) < FAILURE_BELIEVED_MS;
  }
}
