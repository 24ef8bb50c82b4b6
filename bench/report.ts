import { cpus, loadavg, release, totalmem } from "node:os";
import type { measureColdDiscovery, measureFirstRequest } from "./cold.ts";
import type { IsolationRow } from "./isolation.ts";
import type { LocalFigures } from "./local.ts";
import type { measureMemory } from "./memory.ts";
import type { Row } from "./rows.ts";
import type { SearchFigures } from "./search.ts";
import { round } from "./statistics.ts";
import type { WarmImage } from "./warm-image.ts";

/** A figure that must be reached. */
export interface Floor {
  readonly name: string;
  readonly wanted: string;
  readonly got: number;
  readonly met: boolean;
}

/** Everything one run found out; what `--json` writes. */
export interface Report {
  readonly machine: ReturnType<typeof describeMachine>;
  readonly rows: readonly Row[];
  readonly extra: Readonly<Record<string, unknown>>;
}

/** What the figures depend on. */
export function describeMachine(workerd: string) {
  const all = cpus();
  return {
    cpu: all[0]?.model ?? "unknown",
    cores: all.length,
    memory_gib: round(totalmem() / 2 ** 30, 1),
    system: `${process.platform} ${process.arch} ${release()}`,
    node: process.versions.node,
    workerd,
    load_average: loadavg().map((value) => round(value, 2)),
  };
}

const MIN_RATIOS: readonly (readonly [name: string, concurrency: number, ratio: number])[] = [
  ["tools/list", 8, 0.5],
  ["tools/list", 32, 0.5],
  ["tools/call", 8, 0.4],
  ["tools/call", 32, 0.46],
  ["tools/call limited", 8, 0.25],
  ["tools/call limited", 32, 0.25],
];
const MAX_WARM_CALL_US = 20;
const MAX_COLD_DISCOVERY_MS = 40;
const MAX_FIRST_REQUEST_MS = 150;
/** Also for the first one of an isolate, whose code is not compiled yet. */
const MAX_BUILD_MS = 250;
const MAX_QUERY_MS = 2;
/** From the start of the command to its first answer, five skills discovered on loopback. */
const MAX_FIRST_ANSWER_MS = 250;
/** Of a warm call over stdio. */
const MAX_LOCAL_CALL_MS = 0.15;
const MAX_P99_RATIO = 3;
const MAX_GROWTH_MIB = 60;

/** What one run found out; what it was not asked for is missing. */
export interface Measured {
  rows: readonly Row[];
  warm: readonly WarmImage[];
  isolation: readonly IsolationRow[];
  cold?: Awaited<ReturnType<typeof measureColdDiscovery>>;
  search?: SearchFigures;
  local?: LocalFigures;
  first?: Awaited<ReturnType<typeof measureFirstRequest>>;
  /** The same after the rest of the run, when the alarms of all hubs are overdue. */
  restart?: Awaited<ReturnType<typeof measureFirstRequest>>;
  memory?: Awaited<ReturnType<typeof measureMemory>>;
}

/** Compares a run with what the gateway promises. */
export function judge({ rows, warm, isolation, search, local, cold, first, memory }: Measured): readonly Floor[] {
  const atLeast = (name: string, got: number, wanted: number): Floor => ({
    name,
    wanted: `≥ ${wanted}`,
    got,
    met: got >= wanted,
  });
  const atMost = (name: string, got: number | undefined, wanted: number): Floor[] =>
    got === undefined ? [] : [{ name, wanted: `≤ ${wanted}`, got, met: got <= wanted }];
  return [
    ...MIN_RATIOS.flatMap(([name, concurrency, wanted]) => {
      const row = rows.find((one) => one.name === name && one.concurrency === concurrency);
      return row === undefined ? [] : atLeast(`${name} against hello, concurrency ${concurrency}`, row.ratio, wanted);
    }),
    ...atMost("warm sandbox call, µs of CPU", warm[0]?.cpuUs.p50, MAX_WARM_CALL_US),
    ...atMost("cold discovery of five skills, ms", cold?.median_ms, MAX_COLD_DISCOVERY_MS),
    ...atMost("index of 10,000 chunks, ms", search?.build_ms, MAX_BUILD_MS),
    ...atMost("first index of 10,000 chunks, ms", search?.first_build_ms, MAX_BUILD_MS),
    ...atMost("search over 10,000 chunks, p50 in ms", search?.query_p50_ms, MAX_QUERY_MS),
    ...atMost("command's first answer, p50 in ms", local?.first_answer_p50_ms, MAX_FIRST_ANSWER_MS),
    ...atMost("call over stdio, p50 in ms", local?.call_p50_ms, MAX_LOCAL_CALL_MS),
    ...atMost("first request of a fresh process, ms", first?.median_ms, MAX_FIRST_REQUEST_MS),
    ...isolation.flatMap(({ name, p99_ratio, honest_refused }) => [
      ...atMost(`p99 beside ${name} / quiet`, p99_ratio, MAX_P99_RATIO),
      ...atMost(`honest calls refused beside ${name}`, honest_refused, 0),
    ]),
    ...atMost("growth of memory after 5,000 calls, MiB", memory?.growth_mib, MAX_GROWTH_MIB),
    ...(memory === undefined ? [] : [atLeast("calls made for it", memory.calls, memory.wanted_calls)]),
  ];
}

type Cell = string | number;

/** Columns as wide as their widest cell; the first is aligned left, the others right. */
export function table(head: readonly string[], lines: readonly (readonly Cell[])[]): string {
  const cells = [head, ...lines.map((line) => line.map(String))];
  const widths = head.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join("  "),
    )
    .join("\n");
}

export function rowTable(rows: readonly Row[]): string {
  return table(
    ["", "concurrency", "rps", "p50 ms", "p99 ms", "ratio"],
    rows.map((row) => [row.name, row.concurrency, row.rps, row.p50_ms, row.p99_ms, row.ratio.toFixed(3)]),
  );
}

export function isolationTable(rows: readonly IsolationRow[]): string {
  return table(
    ["an honest tenant beside", "quiet p99 ms", "beside p99 ms", "ratio", "max ms", "rps", "refused"],
    rows.map((row) => [
      row.name,
      row.quiet_p99_ms,
      row.beside_p99_ms,
      row.p99_ratio.toFixed(2),
      row.beside_max_ms,
      `${row.quiet_rps} → ${row.beside_rps}`,
      row.honest_refused,
    ]),
  );
}

export function floorTable(floors: readonly Floor[]): string {
  return table(
    ["promise", "wanted", "got", ""],
    floors.map(({ name, wanted, got, met }) => [name, wanted, got, met ? "met" : "MISSED"]),
  );
}
