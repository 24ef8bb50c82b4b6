import type { ArchiveErrorCode } from "../../src/core/archive/archive.ts";
import type { ArchiveLimitSettings } from "../../src/core/archive/limits.ts";
import cases from "./cases.json" with { type: "json" };

/** One archive of the corpus, and what is to be said of it. Each isolates one property. */
export interface ArchiveCase {
  readonly file: string;
  readonly reason: "ok" | ArchiveErrorCode;
  readonly why: string;
  readonly limits?: ArchiveLimitSettings;
  /** SHA-256 of each regular file, by its path. */
  readonly files?: Readonly<Record<string, string>>;
  /** The target of each link, by its path. */
  readonly links?: Readonly<Record<string, string>>;
}

export const ARCHIVE_CASES = cases as readonly ArchiveCase[];
