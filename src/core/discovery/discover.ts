import type { OriginFetcher } from "../fetch/origin-fetch.ts";
import type { Sha256Hex } from "../integrity.ts";
import { DEFAULT_SANDBOX_LIMITS, type DiscoveryLimits } from "../limits.ts";
import type { LlmsTxt } from "../llmstxt/llmstxt.ts";
import { parseLlmsTxt } from "../llmstxt/parse.ts";
import type { CanonicalOrigin } from "../origin.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { ReadAgentSkills } from "./agent-skills.ts";
import { ATTESTATIONS_PATH, isUnread, keepAttestations, readAttestationsFile } from "./attestations.ts";
import { firstRejections, isOutage, MAX_REPORTED, type Refused, rejection, WHOLE_ORIGIN } from "./checked.ts";
import { contradictionKey, markLasting } from "./contradictions.ts";
import { DefinitionReader } from "./definitions.ts";
import type { DiscoveryCache } from "./discovery-cache.ts";
import { DiscoveryError, type DiscoveryFailureReason } from "./discovery-error.ts";
import { Downloads, FETCHING_SHARE } from "./downloads.ts";
import { isHtmlPage } from "./html-page.ts";
import { ReleaseLedger } from "./ledger.ts";
import { rejectionsOfText } from "./lines.ts";
import { fetchMemories, isMissing, keepMemories } from "./memories.ts";
import type { DiscoveryProgress } from "./progress.ts";
import type { Rejection, Release, UnverifiedRecipes } from "./release.ts";
import { fetchSkills, findContradictions, keepSkills } from "./skills.ts";
import { INDEX_PATH, readIndex } from "./skills-index.ts";

export interface DiscoverOptions {
  readonly origin: CanonicalOrigin;
  readonly fetch: OriginFetcher;
  /** Reads the definitions, and compiles the regular expressions of schemas. */
  readonly sandbox: Pick<Sandbox, "load" | "evaluate">;
  readonly limits: DiscoveryLimits;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly signal?: AbortSignal;
  /** Gas for reading one definition. Default: the sandbox's default for a load. */
  readonly loadGas?: number;
  /** Whether recipes whose hash nobody declares are fetched at all. Default: `withhold`. */
  readonly unverifiedRecipes?: UnverifiedRecipes;
  /** Whether the origin may have no executable line, and its release no skill. Asked where it has none; never rejects. Default: no. */
  readonly mayLackTools?: () => Promise<boolean>;
  /** Reads the Agent Skills of the origin's index, where an operator wants them. Default: none are read. */
  readonly readAgentSkills?: ReadAgentSkills;
  /** Of this origin alone; used again, it spares the origin and the sandbox what did not change. */
  readonly cache?: DiscoveryCache;
  /** Bytes held under their SHA-256: they are not fetched. */
  readonly held?: (sha256: Sha256Hex) => Uint8Array | undefined;
  /** Hashes of tools that run nowhere: such a script is not loaded. Awaited when the files are there; never rejects. */
  readonly revoked?: Promise<ReadonlySet<Sha256Hex>>;
  /** What the origin served before, asked for where a file cannot be had or two contradict each other; never rejects. */
  readonly last?: () => Promise<LastServed | null>;
  /** Told of every fetch and every hash as it comes. */
  readonly onProgress?: (progress: DiscoveryProgress) => void;
}

/** What stays while an origin does not say what it serves now: a fault of its host takes no attestation and no memory back. */
export interface LastServed extends Pick<Release, "attestations" | "memories"> {
  /** What the discovery before this one left out, where that is known. */
  readonly rejected?: readonly Rejection[];
}

const NOTHING_SERVED: LastServed = { attestations: [], memories: [] };

/**
 * Discovers one origin: reads its `llms.txt`, fetches everything that its executable lines declare, verifies every byte
 * and reads each tool's definition once (Executable Skills v0.5).
 *
 * One broken skill harms only itself: it is in `rejected` with a code and a sentence, and the others load. A release may
 * thus have no skills. At most `limits.concurrency` fetches run at once; all of it ends at `limits.deadlineMs`, and what
 * was not done by then is rejected with `timeout` or `deferred`. The result does not depend on the order of answers.
 *
 * Where a file has another hash than declared, or `index.json` contradicts `llms.txt`, the publisher may be deploying at this moment: both
 * are read once more, past all caches, and what differs is fetched again, before anything is rejected.
 *
 * @returns plain data; `fetchedAt` is the time at which the discovery began.
 * @throws {DiscoveryError} `discovery_failed` without a usable `llms.txt`, `no_skills` without an executable line in it, unless the
 *   origin may lack them.
 *
 * @example
 * ```ts
 * const release = await discover({ origin, fetch, sandbox, limits: DEFAULT_DISCOVERY_LIMITS, now: Date.now });
 * ```
 */
export async function discover(options: DiscoverOptions): Promise<Release> {
  const { limits, signal: outer } = options;
  const fetching = new AbortController();
  const reading = new AbortController();
  const end = () => {
    fetching.abort();
    reading.abort();
  };
  if (outer?.aborted) end();
  outer?.addEventListener("abort", end, { once: true });
  const timers = [
    setTimeout(() => fetching.abort(), limits.deadlineMs * FETCHING_SHARE),
    setTimeout(end, limits.deadlineMs),
  ];
  try {
    return await discoverUntil(options, { fetching: fetching.signal, reading: reading.signal });
  } finally {
    for (const timer of timers) clearTimeout(timer);
    outer?.removeEventListener("abort", end);
  }
}

const NONE_REVOKED: Promise<ReadonlySet<Sha256Hex>> = Promise.resolve(new Set<Sha256Hex>());

interface Deadlines {
  readonly fetching: AbortSignal;
  readonly reading: AbortSignal;
}

async function discoverUntil(options: DiscoverOptions, { fetching, reading }: Deadlines): Promise<Release> {
  const { origin, fetch, sandbox, limits, now, cache, held, onProgress } = options;
  const { loadGas = DEFAULT_SANDBOX_LIMITS.loadGas, revoked = NONE_REVOKED } = options;
  const fetchedAt = now();
  const downloads = new Downloads({ origin, fetch, limits, signal: fetching, cache, held, onProgress });
  let files = await fetchFiles(options, downloads);
  if ([...mismatchesOf(files, downloads)].some((mismatch) => !cache?.isConfirmed(mismatch))) {
    downloads.askPastCaches();
    files = await fetchFilesAgain(options, downloads, files);
  }
  const { text, unreadable, index, attestationsFile, memories, skills } = files;

  const rejected: Rejection[] = [];
  const ledger = new ReleaseLedger(limits);
  for (const problem of index.problems) rejected.push(rejection("index", WHOLE_ORIGIN, problem));
  const isSilent = (attestationsFile.list?.ok === false && isUnread(attestationsFile.list)) || memories.some(isMissing);
  const last = (isSilent || files.contradictions.length > 0 ? await options.last?.() : null) ?? NOTHING_SERVED;
  const attestations = await keepAttestations(attestationsFile, last.attestations, { ledger, limits, rejected });
  const keptMemories = keepMemories(memories, last.memories, { ledger, limits, rejected });
  const definitions = new DefinitionReader({
    sandbox,
    gas: limits.gas,
    loadGas,
    schemaGas: DEFAULT_SANDBOX_LIMITS.callGas,
    tenant: { client: "discovery", origin },
    signal: reading,
    cache,
  });
  const keptSkills = await keepSkills(skills, {
    ...{ index, definitions, ledger, limits, rejected },
    revoked: await revoked,
  });
  const agentSkills = await options.readAgentSkills?.({
    ...{ origin, downloads, limits, ledger, rejected },
    unverifiedRecipes: options.unverifiedRecipes ?? "withhold",
    index: files.indexFile,
    tools: new Set(text.skills.map(({ name }) => name)),
  });
  throwIfCancelled(options);
  const lost = agentSkills === undefined || agentSkills.length === 0 ? whyBare(files) : null;
  if (lost !== null) throw failed(lost, rejected);
  cache?.turn(mismatchesOf(files, downloads));
  return {
    origin,
    fetchedAt,
    skills: keptSkills,
    memories: keptMemories,
    ...(agentSkills === undefined || agentSkills.length === 0 ? {} : { agentSkills }),
    prose: text.prose.slice(0, MAX_REPORTED).map(({ name, description, reason }) => ({ name, description, reason })),
    held: [],
    confirmed: [],
    attestations,
    facts: [],
    index: index.report,
    rejected: [...unreadable, ...firstRejections(markLasting(rejected, last.rejected ?? []))],
  };
}

type Files = Awaited<ReturnType<typeof fetchFiles>>;

/** Names what a deploy under way may be the cause of. */
function mismatchesOf({ contradictions }: Files, { mismatched }: Downloads): ReadonlySet<string> {
  return new Set([...mismatched, ...contradictions.flatMap((one) => contradictionKey(one) ?? [])]);
}

async function fetchFiles(options: DiscoverOptions, downloads: Downloads) {
  const { origin, limits, unverifiedRecipes = "withhold" } = options;
  const { text, missing } = await fetchLlmsTxt(options, downloads);
  const unreadable = firstRejections(rejectionsOfText(text));
  if (text.skills.length === 0 && !(await options.mayLackTools?.())) {
    const message = `The file llms.txt lists no executable skill, and ${text.prose.length} that are links for people.`;
    throw new DiscoveryError("no_skills", "no_executable_lines", message, unreadable);
  }

  // All are started in this order, in which the lanes serve them, before any is awaited.
  const context = { downloads, origin, limits };
  const indexDownload = downloads.plain(new URL(`${origin}${INDEX_PATH}`), limits.indexBytes, "index.json");
  const indexRead = indexDownload.then((file) => readIndex(file, origin));
  const attestationsUrl = new URL(`${origin}${ATTESTATIONS_PATH}`);
  const [index, attestationsFile, memories, skills] = await Promise.all([
    indexRead,
    downloads
      .plain(attestationsUrl, limits.attestationsBytes, "attestations.json")
      .then((file) => readAttestationsFile(file, attestationsUrl)),
    fetchMemories(text.memories, context),
    fetchSkills(text.skills, { ...context, index: indexRead, unverifiedRecipes }),
  ]);
  throwIfCancelled(options);
  const contradictions = findContradictions(skills, index);
  return {
    text,
    missing,
    unreadable,
    index,
    indexFile: await indexDownload,
    attestationsFile,
    memories,
    skills,
    contradictions,
  };
}

/** What the second look gives; what the first one gave where `llms.txt` cannot be had twice. */
async function fetchFilesAgain(options: DiscoverOptions, downloads: Downloads, first: Files): Promise<Files> {
  try {
    return await fetchFiles(options, downloads);
  } catch (error) {
    throwIfCancelled(options);
    if (error instanceof DiscoveryError && error.code === "discovery_failed") return first;
    throw error;
  }
}

async function fetchLlmsTxt(
  options: DiscoverOptions,
  downloads: Downloads,
): Promise<{ readonly text: LlmsTxt; readonly missing: Refused | null }> {
  const file = await downloads.plain(new URL(`${options.origin}/llms.txt`), options.limits.llmsTxtBytes, "llms.txt");
  throwIfCancelled(options);
  if (!file.ok) {
    // Whether one that offers tools lost the file, or has Agent Skills alone and needs none, its index will say.
    if (file.status === 404 && (await options.mayLackTools?.())) return { text: parseLlmsTxt(""), missing: file };
    throw failed(file);
  }
  // Not strict: a stray byte in prose is no reason to lose an origin, and no hash is taken of this text.
  const text = new TextDecoder().decode(file.value);
  // It withdraws nothing.
  if (isHtmlPage(text)) {
    throw new DiscoveryError("discovery_failed", "bad_shape", "The file llms.txt is a page of HTML.");
  }
  return { text: parseLlmsTxt(text), missing: null };
}

function failed({ code, message }: Refused, rejected: readonly Rejection[] = []): DiscoveryError {
  return new DiscoveryError("discovery_failed", code as DiscoveryFailureReason, message, firstRejections(rejected));
}

/** Where an origin without a tool has no Agent Skills either: what of it could not be had is no word of its publisher's that takes them back. */
function whyBare({ text, missing, indexFile }: Files): Refused | null {
  if (missing !== null) return missing;
  return text.skills.length === 0 && !indexFile.ok && isOutage(indexFile) ? indexFile : null;
}

function throwIfCancelled({ signal }: DiscoverOptions): void {
  if (signal?.aborted) throw new DiscoveryError("discovery_failed", "cancelled", "The discovery was cancelled.");
}
