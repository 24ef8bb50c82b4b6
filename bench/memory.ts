import { type BenchGateway, mcpRequest, toolCall } from "./gateway.ts";
import type { Generator } from "./load/client.ts";
import type { LoadRequest } from "./load/job.ts";
import type { SkillName } from "./publisher.ts";
import { right } from "./rows.ts";
import { round } from "./statistics.ts";
import { residentBytes, type Workerd } from "./workerd/process.ts";

const MIB = 1024 * 1024;
const CONCURRENCY = 16;
/** Memory is judged from here on: by then everything is compiled and the caches are full. */
const SETTLED_CALLS = 5_000;
const STEP_CALLS = 5_000;

/** How many of 1,000 calls go to each tool; the rest to the honest one. The two hostile ones are refused once they are suspended. */
const SHARES: readonly (readonly [SkillName, number])[] = [
  ["look_up", 60],
  ["fail", 60],
  ["burn_gas", 2],
  ["hoard", 2],
];

/**
 * Resident memory of a fresh gateway over so many calls, honest, failing, fetching and hostile ones mixed. Where the time is up before the
 * calls are made, the answer says how many were.
 */
export async function measureMemory(
  generator: Generator,
  gateway: BenchGateway,
  { pid, port }: Workerd,
  origin: string,
  calls: number,
  limitMs: number,
) {
  const requests = mixedRequests(gateway, origin);
  const endAt = performance.now() + limitMs;
  const statuses: Record<number, number> = {};
  const curve: { calls: number; mib: number }[] = [];
  let made = 0;
  let settled: number | null = null;
  let largest = 0;
  while (made < calls && performance.now() < endAt) {
    const step = Math.min(made === 0 ? SETTLED_CALLS : STEP_CALLS, calls - made);
    const durationMs = endAt - performance.now();
    const result = right(
      "memory",
      await generator.run({ port, requests, concurrency: CONCURRENCY, calls: step, durationMs }),
    );
    made += result.calls;
    for (const [status, count] of Object.entries(result.statuses)) {
      statuses[Number(status)] = (statuses[Number(status)] ?? 0) + count;
    }
    const resident = ((await residentBytes(pid)) ?? 0) / MIB;
    settled ??= resident;
    largest = Math.max(largest, resident);
    curve.push({ calls: made, mib: round(resident, 1) });
  }
  const last = curve.at(-1)?.mib ?? 0;
  return {
    calls: made,
    wanted_calls: calls,
    statuses,
    after_5000_mib: round(settled ?? 0, 1),
    end_mib: last,
    growth_mib: round(last - (settled ?? 0), 1),
    largest_growth_mib: round(largest - (settled ?? 0), 1),
    curve,
  };
}

/** 1,000 requests, the rare ones spread evenly. */
function mixedRequests(gateway: BenchGateway, origin: string): readonly LoadRequest[] {
  const request = (name: SkillName, a: number) =>
    mcpRequest(gateway, { client: "unlimited", origin, message: toolCall(name, a, 2), expect: { kind: "answered" } });
  const honest = request("sum_numbers", 1);
  const all = Array.from({ length: 1_000 }, () => honest);
  let start = 0;
  for (const [name, count] of SHARES) {
    const rare = request(name, name === "look_up" ? 5 : 1);
    start += 1;
    for (let index = 0; index < count; index++) {
      let at = (start + Math.floor((index * all.length) / count)) % all.length;
      while (all[at] !== honest) at = (at + 1) % all.length;
      all[at] = rare;
    }
  }
  return all;
}
