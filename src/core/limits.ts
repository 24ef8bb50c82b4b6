/** Bounds of one discovery of one origin. Sizes are bytes, times milliseconds. */
export interface DiscoveryLimits {
  readonly llmsTxtBytes: number;
  readonly indexBytes: number;
  readonly recipeBytes: number;
  readonly attestationsBytes: number;
  readonly toolBytes: number;
  readonly snapshotBytes: number;
  /** Executable skills an origin; the rest are rejected. */
  readonly skills: number;
  readonly memories: number;
  /** Sum of all memory snapshots of an origin. */
  readonly memoryBytes: number;
  /** Sum of all bytes a release keeps. */
  readonly releaseBytes: number;
  /** Wall clock for the whole discovery. */
  readonly deadlineMs: number;
  /** Wall clock for one fetch, body and redirects included. */
  readonly fetchTimeoutMs: number;
  /** Fetches in flight at once (a Durable Object has six connections). */
  readonly concurrency: number;
  readonly redirects: number;
  /** Gas for reading all definitions of one discovery. */
  readonly gas: number;
}

/** Bounds of the sandbox. Sizes are bytes, times milliseconds, gas in units of two steps (loop iterations and function calls) of the wasm. */
export interface SandboxLimits {
  /** QuickJS heap limit of one call. */
  readonly guestMemoryBytes: number;
  /** Hard maximum of an instance's `WebAssembly.Memory`. */
  readonly linearMemoryBytes: number;
  readonly guestStackBytes: number;
  readonly callGas: number;
  readonly loadGas: number;
  /** Calls that exhaust their gas within a minute before an origin's script is suspended for a minute. */
  readonly gasExhaustionsPerMinute: number;
  /** Largest snapshot of a loaded skill. */
  readonly imageBytes: number;
  /** Byte bound of the cache of snapshots. */
  readonly imageCacheBytes: number;
  /** Whole tool call, waits included. */
  readonly callTimeoutMs: number;
  readonly resultBytes: number;
  /** Largest JSON text of a definition. */
  readonly definitionBytes: number;
  readonly fetchCalls: number;
  readonly fetchTimeoutMs: number;
  readonly fetchRequestBytes: number;
  readonly fetchResponseBytes: number;
  readonly memorySearchCalls: number;
  readonly memorySearchQueryBytes: number;
  readonly poolSize: number;
  readonly poolWaitMs: number;
  /** All instances together, the running one included. */
  readonly poolMemoryBytes: number;
  /** Of idle instances larger than this, one is kept, to be used first; others are discarded. */
  readonly keepInstanceBytes: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_DISCOVERY_LIMITS: DiscoveryLimits = {
  llmsTxtBytes: 256 * KIB,
  indexBytes: 256 * KIB,
  recipeBytes: 256 * KIB,
  attestationsBytes: 256 * KIB,
  toolBytes: MIB,
  snapshotBytes: 4 * MIB,
  skills: 256,
  memories: 8,
  memoryBytes: 8 * MIB,
  releaseBytes: 16 * MIB,
  deadlineMs: 15_000,
  fetchTimeoutMs: 10_000,
  concurrency: 6,
  redirects: 5,
  gas: 200_000_000,
};

export const DEFAULT_SANDBOX_LIMITS: SandboxLimits = {
  guestMemoryBytes: 24 * MIB,
  linearMemoryBytes: 32 * MIB,
  guestStackBytes: 128 * KIB,
  callGas: 20_000_000,
  loadGas: 100_000_000,
  gasExhaustionsPerMinute: 5,
  imageBytes: 2 * MIB,
  imageCacheBytes: 16 * MIB,
  callTimeoutMs: 30_000,
  resultBytes: MIB,
  definitionBytes: 256 * KIB,
  fetchCalls: 50,
  fetchTimeoutMs: 10_000,
  fetchRequestBytes: 16_384,
  fetchResponseBytes: 65_536,
  memorySearchCalls: 50,
  memorySearchQueryBytes: KIB,
  poolSize: 16,
  poolWaitMs: 10_000,
  poolMemoryBytes: 48 * MIB,
  keepInstanceBytes: 8 * MIB,
};
