import type { Generator } from "./load/client.ts";
import { toolScript } from "./publisher.ts";
import { type Pace, type Row, right, type Subject } from "./rows.ts";
import { median, quantile, round } from "./statistics.ts";
import { cpuMicroseconds, urlOf, type Workerd } from "./workerd/process.ts";

/** A batch is as many calls as take about this long, so that starting one costs next to nothing. */
const BATCH_MS = 60;
const MIN_BATCH_CALLS = 200;
const MAX_BATCH_CALLS = 4_000;
const WARM_CALLS = 3_000;
/** Callers that wait for the pool are slow to warm up. */
const WARM_LIMIT_MS = 1_000;

/** The row of the sandbox alone, and what it says in microseconds of CPU. */
export interface WarmImage {
  readonly row: Row;
  readonly cpuUs: { readonly p50: number; readonly p99: number };
  readonly engine: string;
}

/**
 * Measures a warm call of `sum_numbers` in a Worker that does nothing else, so many calls at once in it. The times of the row are the CPU
 * time of the whole process (garbage collection and compiler threads included) divided by the calls, a sample a batch of some thousand; where the
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
  const batch = async (calls: number) => {
    const [cpuBefore, startedAt] = [await cpuMicroseconds(sandbox.pid), performance.now()];
    const url = `${urlOf(sandbox.port)}/?calls=${calls}&concurrency=${concurrency}`;
    const answer = (await (await fetch(url, { method: "POST", body })).json()) as { right: number; engine: string };
    const wallUs = (performance.now() - startedAt) * 1000;
    const cpuAfter = await cpuMicroseconds(sandbox.pid);
    if (answer.right !== calls) {
      throw new Error(`tools/call warm-image: ${calls - answer.right} of ${calls} sums were wrong.`);
    }
    engine = answer.engine;
    const cpuUs = cpuBefore === null || cpuAfter === null ? wallUs : cpuAfter - cpuBefore;
    return { wallUs: wallUs / calls, cpuUs: cpuUs / calls };
  };
  let callUs = 0;
  const warmUntil = performance.now() + WARM_LIMIT_MS;
  for (let made = 0; made < WARM_CALLS && performance.now() < warmUntil; made += MIN_BATCH_CALLS) {
    callUs = (await batch(MIN_BATCH_CALLS)).wallUs;
  }
  const batchCalls = Math.round(Math.min(MAX_BATCH_CALLS, Math.max(MIN_BATCH_CALLS, (BATCH_MS * 1000) / callUs)));

  const rates: number[] = [];
  const ratios: number[] = [];
  const samples: number[] = [];
  for (let turn = 0; turn < pace.rounds; turn++) {
    const endAt = performance.now() + pace.sliceMs;
    const walls: number[] = [];
    while (walls.length === 0 || performance.now() < endAt) {
      const { wallUs, cpuUs } = await batch(batchCalls);
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
