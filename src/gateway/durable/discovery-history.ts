import { hasTable } from "./release-store.ts";

/** Outcomes kept of one origin, the latest. */
export const MAX_OUTCOMES = 50;

/** How one discovery ended. */
export type DiscoveryOutcome =
  | {
      readonly outcome: "release";
      /** SHA-256 of the release: the same one is the same skills, rejections and all. */
      readonly version: string;
      readonly skills: number;
      /** Approved versions that stand beside changed ones. */
      readonly held: number;
      readonly rejected: number;
    }
  | {
      readonly outcome: "failure";
      readonly code: string;
      /** One English sentence. */
      readonly message: string;
    };

/** An outcome, and how often it came without another one between. */
export type PastOutcome = DiscoveryOutcome & {
  /** When it came first and last, epoch milliseconds. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly times: number;
};

interface Row {
  readonly id: number;
  readonly first_at: number;
  readonly last_at: number;
  readonly times: number;
  readonly outcome: string;
  readonly [column: string]: SqlStorageValue;
}

/** How the discoveries of one origin ended, through evictions. Storage that fails costs this history alone. */
export class DiscoveryHistory {
  readonly #storage: DurableObjectStorage;
  /** The table is made with the first outcome, as the release's is. */
  #isMade = false;
  /** The latest one, as text. */
  #latest: string | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#attempt(() => {
      this.#isMade = hasTable(storage, "outcomes");
      this.#latest = this.#rows(1)[0]?.outcome ?? null;
    });
  }

  /**
   * Notes how a discovery ended. The same outcome again, as of an origin that does not change, is one entry.
   *
   * @returns whether it is another outcome than the one before.
   */
  note(outcome: DiscoveryOutcome, at: number): boolean {
    const text = JSON.stringify(outcome);
    const isOther = text !== this.#latest;
    this.#latest = text;
    this.#attempt(() => {
      const { sql } = this.#storage;
      this.#make();
      if (!isOther) {
        sql.exec("UPDATE outcomes SET last_at = ?, times = times + 1 WHERE id = (SELECT max(id) FROM outcomes)", at);
        return;
      }
      sql.exec("INSERT INTO outcomes (first_at, last_at, times, outcome) VALUES (?, ?, 1, ?)", at, at, text);
      sql.exec("DELETE FROM outcomes WHERE id <= (SELECT max(id) FROM outcomes) - ?", MAX_OUTCOMES);
    });
    return isOther;
  }

  /** Newest first. */
  list(): readonly PastOutcome[] {
    const rows = this.#attempt(() => this.#rows(MAX_OUTCOMES)) ?? [];
    return rows.map(({ first_at, last_at, times, outcome }) => ({
      ...(JSON.parse(outcome) as DiscoveryOutcome),
      firstAt: first_at,
      lastAt: last_at,
      times,
    }));
  }

  /** How many skills the latest outcome that was a release refused, and held back. */
  lastRefusals(): { readonly rejected: number; readonly held: number } {
    const release = this.list().find((past) => past.outcome === "release");
    return { rejected: release?.rejected ?? 0, held: release?.held ?? 0 };
  }

  #make(): void {
    if (this.#isMade) return;
    this.#storage.sql.exec(
      "CREATE TABLE outcomes (id INTEGER PRIMARY KEY, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, times INTEGER NOT NULL, outcome TEXT NOT NULL)",
    );
    this.#isMade = true;
  }

  #rows(limit: number): readonly Row[] {
    if (!this.#isMade) return [];
    return this.#storage.sql.exec<Row>("SELECT * FROM outcomes ORDER BY id DESC LIMIT ?", limit).toArray();
  }

  #attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      console.error(JSON.stringify({ event: "discovery_history_failed", error: String(error) }));
      return undefined;
    }
  }
}
