import { type BenchGateway, mcpRequest, toolCall } from "./gateway.ts";
import type { Generator } from "./load/client.ts";
import type { LoadRequest, LoadResult } from "./load/job.ts";
import type { Subject } from "./rows.ts";
import { join, median, quantile, round } from "./statistics.ts";

/** Connections of the honest tenant. */
const HONEST_CONCURRENCY = 8;
/** Between an attack's last answer and the next quiet slice. */
const REST_MS = 200;

/** What a neighbour does. */
interface Attack {
  readonly name: string;
  readonly concurrency: number;
  readonly requests: readonly LoadRequest[];
  /** Head start, so that the attack is at its full height when the tenant is measured. */
  readonly leadMs: number;
}

export interface IsolationRow {
  readonly name: string;
  /** The honest tenant's p99 alone and beside the attack: medians of the rounds. */
  readonly quiet_p99_ms: number;
  readonly beside_p99_ms: number;
  /** Median over rounds of beside / quiet. */
  readonly p99_ratio: number;
  readonly beside_max_ms: number;
  readonly quiet_rps: number;
  readonly beside_rps: number;
  /** Honest calls that were not answered rightly beside the attack. */
  readonly honest_refused: number;
  /** What the attacker was answered, by status. */
  readonly attack_statuses: Readonly<Record<number, number>>;
}

/** The three neighbours: another client, on origins of its own. */
export function attacks(gateway: BenchGateway, slowOrigin: string, hostileOrigin: string): readonly Attack[] {
  const call = (origin: string, message: object, token?: string) =>
    mcpRequest(gateway, {
      client: "attacker",
      ...(token === undefined ? {} : { token }),
      origin,
      message,
      expect: { kind: "any" },
    });
  const slow = call(slowOrigin, toolCall("look_up", 3_000, 1));
  const burning = call(hostileOrigin, toolCall("burn_gas", 1, 1));
  // Texts that look like tokens, all different, and none of them with a right checksum.
  const junk = Array.from({ length: 500 }, (_, index) =>
    call(hostileOrigin, { method: "ping" }, `sg_${String(index).padStart(32, "x")}_aaaaaa`),
  );
  return [
    { name: "slow publisher, 100 calls waiting", concurrency: 100, requests: [slow], leadMs: 500 },
    { name: "gas-burning tool in a loop", concurrency: 4, requests: [burning], leadMs: 0 },
    { name: "flood of junk tokens", concurrency: 16, requests: junk, leadMs: 200 },
  ];
}

/** Measures the honest tenant alone and beside an attack, in turn. */
export async function measureIsolation(
  generator: Generator,
  attacker: Generator,
  honest: Subject,
  attack: Attack,
  pace: { readonly rounds: number; readonly sliceMs: number },
): Promise<IsolationRow> {
  const { port } = honest;
  const slice = () =>
    generator.run({ port, requests: [honest.request], concurrency: HONEST_CONCURRENCY, durationMs: pace.sliceMs });
  const [quiet, beside]: [LoadResult[], LoadResult[]] = [[], []];
  const statuses: Record<number, number> = {};
  for (let turn = 0; turn < pace.rounds; turn++) {
    quiet.push(await slice());
    const noise = attacker.run({ port, requests: attack.requests, concurrency: attack.concurrency });
    await sleep(attack.leadMs);
    beside.push(await slice());
    attacker.finish();
    for (const [status, count] of Object.entries((await noise).statuses)) {
      statuses[Number(status)] = (statuses[Number(status)] ?? 0) + count;
    }
    await sleep(REST_MS);
  }
  const p99s = (results: readonly LoadResult[]) => results.map(({ latencies }) => quantile(latencies, 0.99));
  const rps = (results: readonly LoadResult[]) =>
    round(median(results.map(({ calls, elapsedMs }) => (calls * 1000) / elapsedMs)), 0);
  const [quietP99s, besideP99s] = [p99s(quiet), p99s(beside)];
  return {
    name: attack.name,
    quiet_p99_ms: round(median(quietP99s)),
    beside_p99_ms: round(median(besideP99s)),
    p99_ratio: round(median(besideP99s.map((p99, turn) => p99 / (quietP99s[turn] ?? p99))), 2),
    beside_max_ms: round(quantile(join(beside.map(({ latencies }) => latencies)), 1), 1),
    quiet_rps: rps(quiet),
    beside_rps: rps(beside),
    honest_refused: [...quiet, ...beside].reduce((sum, { wrong }) => sum + wrong, 0),
    attack_statuses: statuses,
  };
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
