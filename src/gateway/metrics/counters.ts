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
};
export const HISTOGRAM = "skillgate_request_duration_ms";

/**
 * Counts in the memory of one isolate. Labels come from closed sets (routes, codes, outcomes), never from a caller, a tenant or a
 * publisher, so there are a few hundred series at most and none tells who called what.
 */
export class Counters {
  #increments = new Map<string, number>();

  /** Counts one answered request. */
  count(log: RequestLog, status: number): void {
    this.#add(`skillgate_requests_total{route="${log.route ?? "other"}",status="${status}"}`, 1);
    if (log.code !== null) this.#add(`skillgate_refusals_total{code="${log.code}"}`, 1);
    if (log.discovery !== null) this.#add(`skillgate_discovery_total{state="${log.discovery}"}`, 1);
    if (log.outcome !== null) this.#add(`skillgate_tool_calls_total{outcome="${log.outcome}"}`, 1);
    if (log.gasUsed !== null) this.#add("skillgate_tool_gas_total", log.gasUsed);
    const ms = log.elapsedMs;
    const edge = BUCKETS_MS.find((bound) => ms <= bound);
    // Prometheus wants cumulative buckets: they are summed up when they are written.
    this.#add(`${HISTOGRAM}_bucket{le="${edge ?? "+Inf"}"}`, 1);
    this.#add(`${HISTOGRAM}_sum`, ms);
  }

  /** Hands over all increments since the last time. */
  take(): Increments {
    const taken = [...this.#increments];
    this.#increments = new Map();
    return taken;
  }

  /** Takes increments back that could not be handed on. */
  putBack(increments: Increments): void {
    for (const [series, increment] of increments) this.#add(series, increment);
  }

  get isEmpty(): boolean {
    return this.#increments.size === 0;
  }

  #add(series: string, increment: number): void {
    this.#increments.set(series, (this.#increments.get(series) ?? 0) + increment);
  }
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
