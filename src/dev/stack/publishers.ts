import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { type BuiltWorker, buildWorker } from "./bundle.ts";
import { applyMigrations } from "./migrations.ts";
import { ROOT } from "./paths.ts";
import { HOST } from "./ports.ts";

export const PUBLISHERS = ["demo", "bookstore", "hostile", "docs"] as const;
export type PublisherName = (typeof PUBLISHERS)[number];

export interface RunningPublishers {
  /** `http://127.0.0.1:<port>` of each. */
  readonly origins: Readonly<Record<PublisherName, string>>;
  /** Orders that the bookstore's database holds of one book: for tests of what its API cannot show. */
  countOrders(bookId: string): Promise<number>;
  stop(): Promise<void>;
}

/** Bundles one reference publisher. */
export function buildPublisher(name: PublisherName): Promise<BuiltWorker> {
  const folder = `publishers/${name}`;
  // The rules for the headers of files are among the options.
  const sources = [`${folder}/src`, `${folder}/public/_headers`];
  return buildWorker({ name: `publisher-${name}`, config: `${folder}/wrangler.toml`, sources });
}

/** Bundles all of them, two at a time: a bundler keeps a core busy. */
export async function buildPublishers(): Promise<Readonly<Record<PublisherName, BuiltWorker>>> {
  const [demo, bookstore] = await Promise.all([buildPublisher("demo"), buildPublisher("bookstore")]);
  const [hostile, docs] = await Promise.all([buildPublisher("hostile"), buildPublisher("docs")]);
  return { demo, bookstore, hostile, docs };
}

/** The ports of all of them, in a row. */
export function publisherPorts(first: number): Readonly<Record<PublisherName, number>> {
  return { demo: first, bookstore: first + 1, hostile: first + 2, docs: first + 3 };
}

export interface PublisherOptions {
  readonly workers: Readonly<Record<PublisherName, BuiltWorker>>;
  readonly ports: Readonly<Record<PublisherName, number>>;
  /** Where the bookstore's database lives. */
  readonly stateDir: string;
}

/** Starts all reference publishers in one workerd, each on its own port. */
export async function startPublishers({ workers, ports, stateDir }: PublisherOptions): Promise<RunningPublishers> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: HOST,
      cf: false,
      telemetry: { enabled: false },
      log: new Log(LogLevel.ERROR),
      // The hostile publisher breaks off answers on purpose; its exceptions are no news.
      handleStructuredLogs: () => undefined,
      resourcePersistencePath: join(stateDir, "v3"),
      workers: PUBLISHERS.map((name) => ({
        ...workers[name].options,
        name,
        modules: [...workers[name].modules],
        unsafeDirectSockets: [{ host: HOST, port: ports[name] }],
      })),
    }),
  );
  try {
    await miniflare.ready;
    const db = await miniflare.getD1Database("DB", "bookstore");
    await applyMigrations(db, join(ROOT, "publishers/bookstore/migrations"));
  } catch (error) {
    await miniflare.dispose();
    throw error;
  }
  const origin = (name: PublisherName) => `http://${HOST}:${ports[name]}`;
  return {
    origins: { demo: origin("demo"), bookstore: origin("bookstore"), hostile: origin("hostile"), docs: origin("docs") },
    countOrders: async (bookId) => {
      const db = await miniflare.getD1Database("DB", "bookstore");
      const row = await db
        .prepare("SELECT COUNT(*) AS n FROM orders WHERE book_id = ?")
        .bind(bookId)
        .first<{ n: number }>();
      return row?.n ?? 0;
    },
    stop: () => miniflare.dispose(),
  };
}
