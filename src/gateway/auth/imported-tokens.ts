import { withDeadline } from "../deadline.ts";
import { GatewayError } from "../errors.ts";
import type { PolicyMoment } from "./policy.ts";

const FRESH_MS = 5_000;
const REFRESH_AHEAD_MS = 2_500;
const READ_TIMEOUT_MS = 2_000;
const OUTAGE_PAUSE_MS = 1_000;
const POLL_MS = 5;
const NONE: ReadonlySet<string> = new Set();

/**
 * The hashes of tokens that another gateway issued. They have no checksum, so junk cannot be told from them by its looks: all their hashes
 * are held in memory instead, and read again at most once in some seconds, however much junk arrives. Whether such a token still counts is
 * decided elsewhere; this only says that it is worth asking.
 */
export class ImportedTokens {
  readonly #read: () => Promise<readonly string[]>;
  #held: { readonly hashes: ReadonlySet<string>; readonly readAt: number } | null = null;
  #startedAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #newestRead = 0;

  constructor(read: () => Promise<readonly string[]>) {
    this.#read = read;
  }

  forget(): void {
    this.#held = null;
    this.#newestRead += 1;
    this.#startedAt = Number.NEGATIVE_INFINITY;
    this.#failedAt = Number.NEGATIVE_INFINITY;
  }

  /** Where they were read lately, without any wait; else `null`. */
  now(moment: PolicyMoment): ReadonlySet<string> | null {
    if (this.#held === null) return null;
    const now = moment.now();
    const age = now - this.#held.readAt;
    if (age < 0 || age > FRESH_MS) return null;
    if (age > REFRESH_AHEAD_MS && !this.#isReading(now)) moment.waitUntil(this.#load(now).catch(() => {}));
    return this.#held.hashes;
  }

  /**
   * Reads them where nobody does so already. While the database is down those last read are given, however old.
   *
   * @throws {GatewayError} `policy_unavailable` where they were never read.
   */
  async load(moment: PolicyMoment): Promise<ReadonlySet<string>> {
    const begun = moment.now();
    // Another request's promise must not be awaited: this one looks for its outcome by a timer of its own.
    while (this.#isReading(moment.now()) && moment.now() - begun < READ_TIMEOUT_MS) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const found = this.now(moment);
      if (found !== null) return found;
    }
    const isPaused = Math.abs(moment.now() - this.#failedAt) < OUTAGE_PAUSE_MS;
    try {
      if (!isPaused) return await this.#load(moment.now());
    } catch (cause) {
      if (this.#held === null) throw new GatewayError("policy_unavailable", { cause });
    }
    if (this.#held === null) throw new GatewayError("policy_unavailable");
    return this.#held.hashes;
  }

  #isReading(now: number): boolean {
    return Math.abs(now - this.#startedAt) < READ_TIMEOUT_MS;
  }

  async #load(now: number): Promise<ReadonlySet<string>> {
    this.#startedAt = now;
    this.#newestRead += 1;
    const thisRead = this.#newestRead;
    try {
      const read = await withDeadline(this.#read(), READ_TIMEOUT_MS);
      const hashes = read.length === 0 ? NONE : new Set(read);
      // Where everything was forgotten meanwhile, what was read may be older than the reason for it.
      if (thisRead === this.#newestRead) this.#held = { hashes, readAt: now };
      return hashes;
    } catch (error) {
      this.#failedAt = now;
      throw error;
    } finally {
      if (thisRead === this.#newestRead) this.#startedAt = Number.NEGATIVE_INFINITY;
    }
  }
}
