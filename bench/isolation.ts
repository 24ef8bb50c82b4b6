import { createToken } from "../src/gateway/auth/token.ts";
import { type BenchGateway, mcpRequest, toolCall } from "./gateway.ts";
import type { Generator } from "./load/client.ts";
import type { LoadRequest, LoadResult } from "./load/job.ts";
import type { Subject } from "./rows.ts";
import { join, quantile, round } from "./statistics.ts";

/** Connections of the honest tenant. */
const HONEST_CONCURRENCY = 8;
/** Different tokens that the flood uses; one that is repeated may be refused from memory. */
const JUNK_TOKENS = 2_000;

/** What a neighbour does. */
interface Attack {
  readonly name: string;
  readonly concurrency: number;
  readonly requests: readonly LoadRequest[];
  /** Measured beside it: what the same requests do to the callers of a bare Worker, which answers each with 404. */
  readonly isFlood?: true;
  /** Head start, so that the attack is at its full height when the tenant is measured. */
  readonly leadMs: number;
}

export interface IsolationRow {
  readonly name: string;
  /** The honest tenant's p99 alone (before and after the attack) and beside it, from its first request on. */
  readonly quiet_p99_ms: number;
  readonly beside_p99_ms: number;
  /** beside / quiet */
  readonly p99_ratio: number;
  readonly beside_max_ms: number;
  readonly quiet_rps: number;
  readonly beside_rps: number;
  /** Honest calls that were not answered rightly beside the attack. */
  readonly honest_refused: number;
  /** What the attacker was answered, by status. */
  readonly attack_statuses: Readonly<Record<number, number>>;
}

/**
 * The three neighbours: another client, on origins of its own.
 *
 * @param slowMs how long the slow publisher takes for an answer.
 */
export function attacks(
  gateway: BenchGateway,
  slowOrigin: string,
  hostileOrigin: string,
  slowMs: number,
): readonly Attack[] {
  const call = (origin: string, message: object, token?: string) =>
    mcpRequest(gateway, {
      client: "attacker",
      ...(token === undefined ? {} : { token }),
      origin,
      message,
      expect: { kind: "any" },
    });
  const slow = call(slowOrigin, toolCall("look_up", slowMs, 1));
  const burning = call(hostileOrigin, toolCall("burn_gas", 1, 1));
  // Half of them without a right checksum, half well-formed and unknown: the gateway can tell the latter by its database alone.
  const junk = Array.from({ length: JUNK_TOKENS }, (_, index) => {
    const token = createToken();
    return call(hostileOrigin, { method: "ping" }, index % 2 === 0 ? token : `${token.slice(0, -7)}zzzzzzz`);
  });
  return [
    { name: "slow publisher, 100 calls waiting", concurrency: 100, requests: [slow], leadMs: 500 },
    { name: "gas-burning tool in a loop", concurrency: 4, requests: [burning], leadMs: 0 },
    { name: "flood of junk tokens", concurrency: 16, requests: junk, isFlood: true, leadMs: 0 },
  ];
}

/** Measures the honest tenant alone, beside an attack, and alone again. */
export async function measureIsolation(
  generator: Generator,
  attacker: Generator,
  honest: Subject,
  attack: Attack,
  sliceMs: number,
): Promise<IsolationRow> {
  const { port } = honest;
  const slice = (durationMs: number) =>
    generator.run({ port, requests: [honest.request], concurrency: HONEST_CONCURRENCY, durationMs });
  const before = await slice(sliceMs / 2);
  const noise = attacker.run({ port, requests: attack.requests, concurrency: attack.concurrency });
  let beside: LoadResult;
  try {
    await new Promise((resolve) => setTimeout(resolve, attack.leadMs));
    beside = await slice(sliceMs);
  } finally {
    attacker.finish();
  }
  const { statuses } = await noise;
  const after = await slice(sliceMs / 2);
  const quiet = { latencies: join([before.latencies, after.latencies]), elapsedMs: before.elapsedMs + after.elapsedMs };
  const [quietP99, besideP99] = [quantile(quiet.latencies, 0.99), quantile(beside.latencies, 0.99)];
  return {
    name: attack.name,
    quiet_p99_ms: round(quietP99),
    beside_p99_ms: round(besideP99),
    p99_ratio: round(besideP99 / quietP99, 2),
    beside_max_ms: round(quantile(beside.latencies, 1), 1),
    quiet_rps: round((quiet.latencies.length * 1000) / quiet.elapsedMs, 0),
    beside_rps: round((beside.calls * 1000) / beside.elapsedMs, 0),
    honest_refused: before.wrong + beside.wrong + after.wrong,
    attack_statuses: statuses,
  };
}
