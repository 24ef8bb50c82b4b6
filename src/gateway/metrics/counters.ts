import type { RequestLog } from "../log.ts";

/** Increments by series: `name{label="value",…}`, as the Prometheus text format writes it. */
export type Increments = readonly (readonly [series: string, increment: number])[];

/** Upper edges of the buckets of durations, milliseconds. */
const BUCKETS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];

/** What each name counts, for the `HELP` lines. */
export const COUNTERS: Readonly<Record<string, string>> = {
  skillgate_requests_total: "Answered requests by route and status.",
  skillgate_refusals_total: "Requests that the gateway refused, by code.",
  skillgate_discovery_total: "Where the release of a request came from.",
  skillgate_tool_calls_total: "Finished tool calls by outcome.",
  skillgate_tool_gas_total: "Sandbox gas of tool calls.",
  skillgate_agent_skill_digest_mismatch_total:
    "Artifacts of hosted sites that were not served, since their bytes were others than published.",
  sbproxy_agent_skill_digest_mismatch_total: "The same under the name that Agent Skills v0.2.0 documents.",
};
/** Distinct series an isolate counts under labels that tenants choose. */
const MAX_LABELLED_SERIES = 200;

export const HISTOGRAM = "skillgate_request_duration_ms";

/**
 * Counts in the memory of one isolate. Labels come from closed sets (routes, codes, outcomes), never from a caller, a tenant or a
 * publisher, so there are a few hundred series at most and none tells who called what. Faults of hosted sites alone name the site and the
 * skill, of which there are {@link MAX_LABELLED_SERIES} at most.
 */
export class Counters {
  /** By route, then by status. Names of series are written when they are handed over: making them is what counting would cost most. */
  readonly #requests = new Map<string, Tally>();
  readonly #refusals: Tally = new Map();
  readonly #discoveries: Tally = new Map();
  readonly #calls: Tally = new Map();
  readonly #durations: Tally = new Map();
  readonly #labelled = new Map<string, number>();
  /** Series of {@link countLabelled} that this isolate has ever counted. */
  readonly #known = new Set<string>();
  #gas = 0;
  #gasCalls = 0;
  #ms = 0;
  #returned = new Map<string, number>();

  /** Counts one answered request. */
  count(log: RequestLog, status: number): void {
    const route = log.route ?? "other";
    let statuses = this.#requests.get(route);
    if (statuses === undefined) {
      statuses = new Map();
      this.#requests.set(route, statuses);
    }
    add(statuses, status);
    if (log.code !== null) add(this.#refusals, log.code);
    if (log.discovery !== null) add(this.#discoveries, log.discovery);
    if (log.outcome !== null) add(this.#calls, log.outcome);
    if (log.gasUsed !== null) {
      this.#gas += log.gasUsed;
      this.#gasCalls += 1;
    }
    const ms = log.elapsedMs;
    // Prometheus wants cumulative buckets: they are summed up when they are written.
    add(this.#durations, bucketOf(ms));
    this.#ms += ms;
  }

  /** Counts one event under labels that tenants choose. Past a bound of distinct series an isolate counts under `(other)`. */
  countLabelled(name: string, labels: Readonly<Record<string, string>>): void {
    let series = seriesOf(name, labels);
    if (!this.#known.has(series) && this.#known.size >= MAX_LABELLED_SERIES) {
      series = seriesOf(name, Object.fromEntries(Object.keys(labels).map((label) => [label, "(other)"])));
    } else this.#known.add(series);
    add(this.#labelled, series);
  }

  /** Hands over all increments since the last time. */
  take(): Increments {
    const taken = this.#returned;
    this.#returned = new Map();
    move(this.#labelled, taken, String);
    if (this.#durations.size === 0) return [...taken];
    for (const [route, statuses] of this.#requests) {
      move(statuses, taken, (status) => `skillgate_requests_total{route="${route}",status="${status}"}`);
    }
    move(this.#refusals, taken, (code) => `skillgate_refusals_total{code="${code}"}`);
    move(this.#discoveries, taken, (state) => `skillgate_discovery_total{state="${state}"}`);
    move(this.#calls, taken, (outcome) => `skillgate_tool_calls_total{outcome="${outcome}"}`);
    if (this.#gasCalls > 0) add(taken, "skillgate_tool_gas_total", this.#gas);
    move(this.#durations, taken, (edge) => `${HISTOGRAM}_bucket{le="${edge}"}`);
    add(taken, `${HISTOGRAM}_sum`, this.#ms);
    this.#gas = 0;
    this.#gasCalls = 0;
    this.#ms = 0;
    return [...taken];
  }

  /** Takes increments back that could not be handed on. */
  putBack(increments: Increments): void {
    for (const [series, increment] of increments) add(this.#returned, series, increment);
  }

  get isEmpty(): boolean {
    // Whatever else is counted has a duration.
    return this.#durations.size === 0 && this.#returned.size === 0 && this.#labelled.size === 0;
  }
}

function seriesOf(name: string, labels: Readonly<Record<string, string>>): string {
  const written = Object.entries(labels).map(([label, value]) => `${label}="${value.replace(/[^ -~]|["\\]/g, "_")}"`);
  return `${name}{${written.join(",")}}`;
}

/** By the value of a label. */
type Tally = Map<string | number, number>;

function add<Key>(tally: Map<Key, number>, key: Key, increment = 1): void {
  tally.set(key, (tally.get(key) ?? 0) + increment);
}

function move<Key extends string | number>(
  from: Map<Key, number>,
  to: Map<string, number>,
  nameOf: (value: Key) => string,
): void {
  for (const [value, count] of from) add(to, nameOf(value), count);
  from.clear();
}

/** The upper edge of the bucket of a duration. */
function bucketOf(ms: number): number | "+Inf" {
  for (const bound of BUCKETS_MS) if (ms <= bound) return bound;
  return "+Inf";
}

/** The Prometheus text exposition format 0.0.4 of totals by series. */
export function writeMetrics(totals: Increments): string {
  const lines: string[] = [];
  for (const [name, help] of Object.entries(COUNTERS)) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} counter`);
    const own = totals.filter(([series]) => series === name || series.startsWith(`${name}{`));
    for (const [series, total] of own.sort(([a], [b]) => (a < b ? -1 : 1))) lines.push(`${series} ${total}`);
  }
  const total = new Map(totals);
  lines.push(`# HELP ${HISTOGRAM} Time to the answer's headers, milliseconds.`, `# TYPE ${HISTOGRAM} histogram`);
  let below = 0;
  for (const bound of [...BUCKETS_MS, "+Inf"]) {
    below += total.get(`${HISTOGRAM}_bucket{le="${bound}"}`) ?? 0;
    lines.push(`${HISTOGRAM}_bucket{le="${bound}"} ${below}`);
  }
  lines.push(`${HISTOGRAM}_sum ${total.get(`${HISTOGRAM}_sum`) ?? 0}`, `${HISTOGRAM}_count ${below}`);
  return `${lines.join("\n")}\n`;
}
