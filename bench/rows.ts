import type { Generator } from "./load/client.ts";
import type { LoadRequest, LoadResult } from "./load/job.ts";
import { join, median, quantile, round } from "./statistics.ts";

export const CONCURRENCIES = [1, 8, 32] as const;

/** One line of the result. */
export interface Row {
  readonly name: string;
  readonly concurrency: number;
  /** Requests a second: the median of the rounds. */
  readonly rps: number;
  /** Of all requests of all rounds. */
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** `rps` against `hello` at the same concurrency: the median over rounds, each against the `hello` right before and after it. */
  readonly ratio: number;
}

/** Something to be measured: a request to one of our processes. */
export interface Subject {
  readonly name: string;
  readonly port: number;
  readonly request: LoadRequest;
}

export interface Pace {
  readonly rounds: number;
  readonly sliceMs: number;
}

/**
 * Measures `hello` and the subjects in turn, one short slice each: hello, subject, hello, subject, …, hello, and that several times. What
 * else the machine does meanwhile hits both sides of a ratio alike.
 */
export async function measureRows(
  generator: Generator,
  hello: Subject,
  subjects: readonly Subject[],
  concurrency: number,
  pace: Pace,
): Promise<readonly Row[]> {
  const slice = async ({ name, port, request }: Subject, durationMs = pace.sliceMs) => {
    const result = await generator.run({ port, requests: [request], concurrency, durationMs });
    return right(name, result);
  };
  for (const subject of [hello, ...subjects]) await slice(subject);
  const helloSlices: LoadResult[] = [await slice(hello)];
  const slices = new Map<string, { result: LoadResult; ratio: number }[]>();
  for (let turn = 0; turn < pace.rounds; turn++) {
    for (const subject of subjects) {
      const before = helloSlices.at(-1);
      const result = await slice(subject);
      const after = await slice(hello);
      helloSlices.push(after);
      const base = (rate(before ?? after) + rate(after)) / 2;
      slices.set(subject.name, [...(slices.get(subject.name) ?? []), { result, ratio: rate(result) / base }]);
    }
  }
  const row = (name: string, results: readonly LoadResult[], ratio: number): Row => {
    const latencies = join(results.map((result) => result.latencies));
    return {
      name,
      concurrency,
      rps: round(median(results.map(rate)), 0),
      p50_ms: round(quantile(latencies, 0.5)),
      p99_ms: round(quantile(latencies, 0.99)),
      ratio: round(ratio),
    };
  };
  return [
    row(hello.name, helloSlices, 1),
    ...[...slices].map(([name, parts]) =>
      row(
        name,
        parts.map(({ result }) => result),
        median(parts.map(({ ratio }) => ratio)),
      ),
    ),
  ];
}

/** @throws when any answer was not what it must be: a fast wrong answer is no result. */
export function right(name: string, result: LoadResult): LoadResult {
  if (result.wrong > 0) {
    throw new Error(`${name}: ${result.wrong} of ${result.calls} answers were wrong, the first: ${result.wrongSample}`);
  }
  return result;
}

function rate({ calls, elapsedMs }: LoadResult): number {
  return (calls * 1000) / elapsedMs;
}
