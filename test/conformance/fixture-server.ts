import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { buildWorker } from "../../src/dev/stack/bundle.ts";

export interface FixtureServer {
  /** `http://localhost:<port>/mcp` */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the fixture Worker in workerd on a free loopback port. */
export async function startFixtureServer(): Promise<FixtureServer> {
  const worker = await buildWorker({
    name: "conformance-fixture",
    config: "test/conformance/wrangler.toml",
    sources: ["test/conformance", "src/core"],
  });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      port: 0,
      cf: false,
      telemetry: { enabled: false },
      log: new Log(LogLevel.ERROR),
      workers: [{ ...worker.options, name: worker.name, modules: [...worker.modules] }],
    }),
  );
  try {
    const { port } = await miniflare.ready;
    // The suite's test of DNS rebinding wants a name, and workerd listens on the address behind it.
    return { url: `http://localhost:${port}/mcp`, stop: () => miniflare.dispose() };
  } catch (error) {
    await miniflare.dispose();
    throw error;
  }
}
