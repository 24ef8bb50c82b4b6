import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type ModuleFile, moduleList, type Service, text } from "./config.ts";

// workerd has no D1 of its own. Miniflare brings one: a Durable Object on SQLite, and an entry that speaks D1's protocol. Both are taken
// as they are from its package, without the rest of it.
const WORKERS = join(dirname(createRequire(import.meta.url).resolve("miniflare")), "workers");
const ENTRY = "d1-entry";
const OBJECT = "d1-object";
const CLASS = "D1DatabaseObject";

/** The modules that Miniflare's own Workers import. */
export async function miniflareExtensions(): Promise<readonly ModuleFile[]> {
  return [
    await workerModule("miniflare:shared", "shared/index.worker.js"),
    await workerModule("miniflare:zod", "shared/zod.worker.js"),
  ];
}

/** A binding to the database of that id. */
export function d1Binding(name: string, id: string): string {
  const service = `(name = ${text(ENTRY)}, props = (json = ${text(JSON.stringify({ MINIFLARE_NAMESPACE: id }))}))`;
  return `(name = ${text(name)}, wrapped = (moduleName = "cloudflare-internal:d1-api", innerBindings = [(name = "fetcher", service = ${service})]))`;
}

/** The services behind {@link d1Binding}. `disk` names the service of the folder where the databases lie. */
export async function d1Services(disk: string): Promise<readonly Service[]> {
  const entry = [await workerModule("entry.worker.js", "d1/entry.worker.js")];
  const object = [await workerModule("database.worker.js", "d1/database.worker.js")];
  return [
    {
      name: ENTRY,
      modules: entry,
      body: `(
      modules = ${moduleList(ENTRY, entry)},
      compatibilityDate = "2023-07-24",
      compatibilityFlags = ["enhanced_error_serialization"],
      bindings = [(name = "MINIFLARE_OBJECT", durableObjectNamespace = (className = "${CLASS}", serviceName = "${OBJECT}"))]
    )`,
    },
    {
      name: OBJECT,
      modules: object,
      body: `(
      modules = ${moduleList(OBJECT, object)},
      compatibilityDate = "2023-07-24",
      compatibilityFlags = ["nodejs_compat", "experimental"],
      bindings = [(name = "MINIFLARE_BLOBS", service = ${text(disk)})],
      durableObjectNamespaces = [(className = "${CLASS}", uniqueKey = "miniflare-${CLASS}")],
      durableObjectStorage = (localDisk = ${text(disk)})
    )`,
    },
  ];
}

async function workerModule(name: string, file: string): Promise<ModuleFile> {
  return { name, kind: "esModule", contents: await readFile(join(WORKERS, file), "utf8") };
}
