// A process of its own that puts load on a port of this machine: started by `client.ts`, told what to do over its channel.

import { HOST } from "../../src/dev/stack/ports.ts";
import { Connection } from "./connection.ts";
import type { FromGenerator, LoadJob, LoadRequest, LoadResult, ToGenerator } from "./job.ts";

/** An answer that takes longer is a failure of the run. */
const ANSWER_LIMIT_MS = 40_000;

interface Prepared {
  readonly bytes: Buffer;
  readonly expected: Buffer | null;
  readonly mayRefuse: boolean;
  readonly mayFail: boolean;
}

const idle = new Map<number, Connection[]>();
let stopped = false;

function take(port: number): Connection {
  const connections = idle.get(port) ?? [];
  for (let connection = connections.pop(); connection !== undefined; connection = connections.pop()) {
    if (!connection.closed) return connection;
  }
  return new Connection(port);
}

function giveBack(port: number, connection: Connection): void {
  const connections = idle.get(port) ?? [];
  connections.push(connection);
  idle.set(port, connections);
}

function prepare(port: number, request: LoadRequest): Prepared {
  const body = Buffer.from(request.body ?? "");
  const headers = {
    Host: `${HOST}:${port}`,
    ...request.headers,
    ...(body.length > 0 ? { "Content-Length": body.length } : {}),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return {
    bytes: Buffer.concat([Buffer.from(`${request.method} ${request.path} HTTP/1.1\r\n${lines.join("")}\r\n`), body]),
    expected: request.expect.kind === "exact" ? Buffer.from(request.expect.body) : null,
    mayRefuse: request.expect.kind !== "exact",
    mayFail: request.expect.kind === "any",
  };
}

function isRight({ expected, mayRefuse, mayFail }: Prepared, status: number, body: Buffer): boolean {
  if (expected !== null) return status === 200 && body.equals(expected);
  return mayFail || (mayRefuse && status < 500);
}

function run(job: LoadJob): Promise<LoadResult> {
  const { port, concurrency, calls = Number.POSITIVE_INFINITY, durationMs = Number.POSITIVE_INFINITY } = job;
  const requests = job.requests.map((request) => prepare(port, request));
  const latencies: number[] = [];
  const statuses: Record<number, number> = {};
  let wrong = 0;
  let wrongSample: string | null = null;
  let sent = 0;
  stopped = false;
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const endAt = startedAt + durationMs;
    let lastAt = startedAt;
    let open = concurrency;
    let lastAnswers = -1;
    const watchdog = setInterval(() => {
      if (latencies.length === lastAnswers) reject(new Error(`no answer within ${ANSWER_LIMIT_MS} ms`));
      lastAnswers = latencies.length;
    }, ANSWER_LIMIT_MS);
    const next = (connection: Connection) => {
      const request = requests[sent % requests.length];
      const sentAt = performance.now();
      if (request === undefined || stopped || sent >= calls || sentAt >= endAt) {
        giveBack(port, connection);
        open -= 1;
        if (open > 0) return;
        clearInterval(watchdog);
        const elapsedMs = lastAt - startedAt;
        resolve({
          calls: latencies.length,
          elapsedMs,
          latencies: Float64Array.from(latencies),
          wrong,
          wrongSample,
          statuses,
        });
        return;
      }
      sent += 1;
      connection.send(
        request.bytes,
        (status, body) => {
          lastAt = performance.now();
          latencies.push(lastAt - sentAt);
          statuses[status] = (statuses[status] ?? 0) + 1;
          if (!isRight(request, status, body)) {
            wrong += 1;
            wrongSample ??= `${status} ${body.toString().slice(0, 500)}`;
          }
          next(connection);
        },
        (error) => {
          clearInterval(watchdog);
          reject(error);
        },
      );
    };
    for (let index = 0; index < concurrency; index++) next(take(port));
  });
}

process.on("message", (message: ToGenerator) => {
  if (message.kind === "stop") {
    stopped = true;
    return;
  }
  const reply = (answer: FromGenerator) => process.send?.(answer);
  run(message.job).then(
    (result) => reply({ ok: true, result }),
    (error: Error) => reply({ ok: false, message: error.message }),
  );
});
// A terminal signals the whole group; the parent decides when we end.
process.on("SIGINT", () => undefined);
process.on("disconnect", () => process.exit(0));
