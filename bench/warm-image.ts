import type { Generator } from "./load/client.ts";
import { toolScript } from "./publisher.ts";
import { type Pace, type Row, right, type Subject } from "./rows.ts";
import { median, quantile, round } from "./statistics.ts";
import { cpuMicroseconds, urlOf, type Workerd } from "./workerd/process.ts";

const BATCH_CALLS = 2_000;

/** The row of the sandbox alone, and what it says in microseconds of CPU. */
export interface WarmImage {
  readonly row: Row;
  readonly cpuUs: { readonly p50: number; readonly p99: number };
  readonly engine: string;
}

/**
 * Measures a warm call of `sum_numbers` in a Worker that does nothing else, so many calls at once in it. The times of the row are the CPU
 * time of the whole process (garbage collection and compiler threads included) divided by the calls, a sample a batch of 2,000; where the
 * platform tells no CPU time, the wall clock.
 */
export async function measureWarmImage(
  generator: Generator,
  hello: Subject,
  sandbox: Workerd,
  concurrency: number,
  pace: Pace,
): Promise<WarmImage> {
  const body = toolScript("sum_numbers");
  let engine = "";
  const batch = async () => {
    const [cpuBefore, startedAt] = [await cpuMicroseconds(sandbox.pid), performance.now()];
    const url = `${urlOf(sandbox.port)}/?calls=${BATCH_CALLS}&concurrency=${concurrency}`;
    const answer = (await (await fetch(url, { method: "POST", body })).json()) as { right: number; engine: string };
    const wallUs = (performance.now() - startedAt) * 1000;
    const cpuAfter = await cpuMicroseconds(sandbox.pid);
    if (answer.right !== BATCH_CALLS) {
      throw new Error(`tools/call warm-image: ${BATCH_CALLS - answer.right} of ${BATCH_CALLS} sums were wrong.`);
    }
    engine = answer.engine;
    const cpuUs = cpuBefore === null || cpuAfter === null ? wallUs : cpuAfter - cpuBefore;
    return { wallUs: wallUs / BATCH_CALLS, cpuUs: cpuUs / BATCH_CALLS };
  };
  for (let warm = 0; warm < 5; warm++) await batch();

  const rates: number[] = [];
  const ratios: number[] = [];
  const samples: number[] = [];
  for (let turn = 0; turn < pace.rounds; turn++) {
    const endAt = performance.now() + pace.sliceMs;
    const walls: number[] = [];
    while (walls.length === 0 || performance.now() < endAt) {
      const { wallUs, cpuUs } = await batch();
      walls.push(wallUs);
      samples.push(cpuUs);
    }
    const rps = 1e6 / median(walls);
    const job = { port: hello.port, requests: [hello.request], concurrency, durationMs: pace.sliceMs };
    const { calls, elapsedMs } = right(hello.name, await generator.run(job));
    rates.push(rps);
    ratios.push(rps / ((calls * 1000) / elapsedMs));
  }
  const cpuUs = { p50: round(quantile(samples, 0.5), 2), p99: round(quantile(samples, 0.99), 2) };
  return {
    cpuUs,
    engine,
    row: {
      name: "tools/call warm-image",
      concurrency,
      rps: round(median(rates), 0),
      p50_ms: round(cpuUs.p50 / 1000, 5),
      p99_ms: round(cpuUs.p99 / 1000, 5),
      ratio: round(median(ratios)),
    },
  };
}
