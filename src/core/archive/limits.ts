import { ArchiveError } from "./archive-error.ts";

/** What an archive may grow to. Each value passes at the limit itself. */
export interface ArchiveLimits {
  /** Expanded bytes for each byte of the archive; a fraction counts, 100.5 is over 100. */
  readonly maxDecompressionRatio: number;
  /** Members: files, directories, links, and global pax headers. */
  readonly maxEntries: number;
  /** Bytes: the whole inflated tar stream, headers and padding included; of a zip, the sum of its inflated files. */
  readonly maxExpandedBytes: number;
}

/** The defaults of Agent Skills v0.2.0. */
export const DEFAULT_ARCHIVE_LIMITS: ArchiveLimits = {
  maxDecompressionRatio: 100,
  maxEntries: 1000,
  maxExpandedBytes: 10_485_760,
};

/** The limits as a skill's entry spells them. */
export interface ArchiveLimitSettings {
  readonly max_decompression_ratio?: number | undefined;
  readonly max_entries?: number | undefined;
  readonly max_expanded_bytes?: number | undefined;
  /** Reserved by the specification for signed freshness headers: accepted, and without effect. */
  readonly max_clock_skew_secs?: number | undefined;
}

const U32_MAX = 4_294_967_295;

/**
 * The range of each setting. An archive is read in memory, about twice its expanded size at the peak, so an isolate of 128 MB bounds
 * what an entry may ask for.
 */
export const ARCHIVE_LIMIT_RANGES = {
  max_decompression_ratio: [1, U32_MAX],
  max_entries: [1, 10_000],
  max_expanded_bytes: [1, 33_554_432],
  max_clock_skew_secs: [0, U32_MAX],
} as const satisfies Record<keyof ArchiveLimitSettings, readonly [min: number, max: number]>;

/**
 * The limits of one skill's entry, defaults filled in.
 *
 * @example `archiveLimits({ max_entries: 50 })`
 * @throws {ArchiveError} `bad_limit` for a value that is no integer within {@link ARCHIVE_LIMIT_RANGES}.
 */
export function archiveLimits(settings: ArchiveLimitSettings): ArchiveLimits {
  for (const [name, [min, max]] of Object.entries(ARCHIVE_LIMIT_RANGES)) {
    const value = settings[name as keyof ArchiveLimitSettings];
    if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) continue;
    throw new ArchiveError("bad_limit", `${name} must be an integer from ${min} to ${max}.`);
  }
  return {
    maxDecompressionRatio: settings.max_decompression_ratio ?? DEFAULT_ARCHIVE_LIMITS.maxDecompressionRatio,
    maxEntries: settings.max_entries ?? DEFAULT_ARCHIVE_LIMITS.maxEntries,
    maxExpandedBytes: settings.max_expanded_bytes ?? DEFAULT_ARCHIVE_LIMITS.maxExpandedBytes,
  };
}

/** @throws {ArchiveError} `entries` */
export function checkEntries(count: number, limits: ArchiveLimits): void {
  if (count <= limits.maxEntries) return;
  throw new ArchiveError("entries", `The archive has more members than max_entries, ${limits.maxEntries}.`);
}

/** @throws {ArchiveError} `ratio` */
export function checkRatio(expandedBytes: number, archiveBytes: number, limits: ArchiveLimits): void {
  if (expandedBytes <= limits.maxDecompressionRatio * archiveBytes) return;
  throw new ArchiveError(
    "ratio",
    `The archive expands from ${archiveBytes} bytes to ${expandedBytes}, more than max_decompression_ratio, ${limits.maxDecompressionRatio}, allows.`,
  );
}

/** The refusal of an archive that inflates past `max_expanded_bytes`. */
export function tooExpanded(limits: ArchiveLimits): ArchiveError {
  return new ArchiveError(
    "expanded",
    `The archive expands to more than max_expanded_bytes, ${limits.maxExpandedBytes} bytes.`,
  );
}
