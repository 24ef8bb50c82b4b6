import { median, quantile, round } from "./statistics.ts";
import { cpuMicroseconds, type Prepared, urlOf, type Workerd } from "./workerd/process.ts";

const CHUNKS = 10_000;
/** Characters of a chunk's text: with them the snapshot has about 4 MiB. */
const CHUNK_CHARACTERS = 310;
const WORDS = 60_000;
const WARM_BUILDS = 5;
const QUERIES = 200;
const QUERY_WORDS = 4;
/** A query is repeated within one request, so that the request itself hardly counts. */
const REPEATS = 20;

/** What a search over a large memory costs in workerd; milliseconds. */
export interface SearchFigures {
  readonly chunks: number;
  readonly snapshot_bytes: number;
  readonly index_bytes: number;
  /** The first index that a fresh process builds, its code not yet compiled: wall clock and CPU time. */
  readonly first_build_ms: number;
  readonly first_build_cpu_ms: number;
  /** Later ones. */
  readonly build_ms: number;
  readonly query_p50_ms: number;
  readonly query_p99_ms: number;
}

/** Measures in fresh processes of a Worker that holds the search alone. */
export async function measureSearch(prepared: Prepared, processes: number): Promise<SearchFigures> {
  const { snapshot, queries } = corpus();
  const [firsts, cpus, later, times]: [number[], number[], number[], number[]] = [[], [], [], []];
  let indexBytes = 0;
  for (let turn = 0; turn < processes; turn++) {
    const workerd = await prepared.start();
    try {
      await fetch(urlOf(workerd.port), { method: "PUT", body: snapshot });
      const before = await cpuMicroseconds(workerd.pid);
      const first = await build(workerd);
      const after = await cpuMicroseconds(workerd.pid);
      firsts.push(first.ms);
      cpus.push(before === null || after === null ? first.ms : (after - before) / 1000);
      indexBytes = first.bytes;
      for (let n = 0; n < WARM_BUILDS; n++) later.push((await build(workerd)).ms);
      if (turn === processes - 1) for (const query of queries) times.push(await search(workerd, query));
    } finally {
      await workerd.stop();
    }
  }
  return {
    chunks: CHUNKS,
    snapshot_bytes: snapshot.length,
    index_bytes: indexBytes,
    first_build_ms: round(median(firsts), 1),
    first_build_cpu_ms: round(median(cpus), 1),
    build_ms: round(median(later), 1),
    query_p50_ms: round(quantile(times, 0.5), 3),
    query_p99_ms: round(quantile(times, 0.99), 3),
  };
}

async function build({ port }: Workerd): Promise<{ readonly ms: number; readonly bytes: number }> {
  const startedAt = performance.now();
  const answer = await fetch(`${urlOf(port)}/build`, { method: "POST" });
  const { chunks, bytes } = (await answer.json()) as { chunks: number; bytes: number };
  const ms = performance.now() - startedAt;
  if (chunks !== CHUNKS) throw new Error(`Search: the index has ${chunks} chunks.`);
  return { ms, bytes };
}

/** Milliseconds of one search. */
async function search({ port }: Workerd, query: string): Promise<number> {
  const startedAt = performance.now();
  const answer = await fetch(`${urlOf(port)}/search?times=${REPEATS}`, { method: "POST", body: query });
  const { hits } = (await answer.json()) as { hits: number };
  if (hits === 0) throw new Error(`Search: "${query}" has no hits.`);
  return (performance.now() - startedAt) / REPEATS;
}

/** Made-up words whose frequencies fall as those of prose do; the same in every run. */
function corpus(): { readonly snapshot: Uint8Array<ArrayBuffer>; readonly queries: readonly string[] } {
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  const letters = () => String.fromCharCode(97 + Math.floor(26 * random()));
  const words = Array.from({ length: WORDS }, (_, n) => Array.from({ length: 2 + (n % 9) }, letters).join(""));
  const word = () => words[Math.floor(WORDS * random() ** 4)] ?? "";
  const chunks = Array.from({ length: CHUNKS }, (_, n) => {
    let content = word();
    while (content.length < CHUNK_CHARACTERS) content += ` ${word()}`;
    return {
      id: `doc-${n}#0`,
      metadata: { content, okf_concept: `doc-${n}`, okf_type: "docs", title: `${word()} ${n}` },
    };
  });
  const queries = Array.from({ length: QUERIES }, () => Array.from({ length: QUERY_WORDS }, word).join(" "));
  return { snapshot: new TextEncoder().encode(JSON.stringify(chunks)), queries };
}
