/** One request of a load, and what a right answer to it is. */
export interface LoadRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * `exact`: status 200 and this very body. `answered`: any status below 500, for requests that are meant to be refused. `any`: whatever
   * comes, for the noise of attackers.
   */
  readonly expect: { readonly kind: "exact"; readonly body: string } | { readonly kind: "answered" | "any" };
}

/** A closed loop: each of `concurrency` connections sends its next request when it has the answer to the last. */
export interface LoadJob {
  readonly port: number;
  /** Taken in turn. */
  readonly requests: readonly LoadRequest[];
  readonly concurrency: number;
  /** Ends after so many milliseconds, after so many calls, or when told to, whichever comes first. */
  readonly durationMs?: number;
  readonly calls?: number;
}

export interface LoadResult {
  /** Calls answered, right or wrong. */
  readonly calls: number;
  /** From the first request to the last answer. */
  readonly elapsedMs: number;
  /** Milliseconds of every call, in no order. */
  readonly latencies: Float64Array;
  readonly wrong: number;
  /** The first wrong answer. */
  readonly wrongSample: string | null;
  /** How often each status came. */
  readonly statuses: Readonly<Record<number, number>>;
}

export type ToGenerator = { readonly kind: "run"; readonly job: LoadJob } | { readonly kind: "stop" };
export type FromGenerator =
  | { readonly ok: true; readonly result: LoadResult }
  | { readonly ok: false; readonly message: string };
