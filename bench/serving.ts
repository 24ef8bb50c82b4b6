import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import type { BuiltWorker } from "../src/dev/stack/bundle.ts";
import { HOST } from "../src/dev/stack/ports.ts";
import type { Generator } from "./load/client.ts";
import { CONCURRENCIES, measureRows, type Pace, type Subject } from "./rows.ts";

/**
 * The same bare `hello`, served as the benchmark serves everything, by a socket of Miniflare's that leads straight to the Worker, and
 * through Miniflare's own entry. Shows what each way of serving costs, so that the chosen one is known to add nothing.
 */
export async function compareServing(generator: Generator, worker: BuiltWorker, raw: Subject, pace: Pace) {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: HOST,
      port: 0,
      cf: false,
      telemetry: { enabled: false },
      log: new Log(LogLevel.ERROR),
      workers: [
        {
          ...worker.options,
          name: "hello",
          modules: [...worker.modules],
          unsafeDirectSockets: [{ host: HOST, port: 0 }],
        },
      ],
    }),
  );
  try {
    const entry = await miniflare.ready;
    const direct = await miniflare.unsafeGetDirectURL("hello");
    const subjects: readonly Subject[] = [
      { ...raw, name: "hello, Miniflare's direct socket", port: Number(direct.port) },
      { ...raw, name: "hello, Miniflare's entry", port: Number(entry.port) },
    ];
    const rows = [];
    for (const concurrency of CONCURRENCIES) {
      rows.push(...(await measureRows(generator, raw, subjects, concurrency, pace)));
    }
    return rows;
  } finally {
    await miniflare.dispose();
  }
}
