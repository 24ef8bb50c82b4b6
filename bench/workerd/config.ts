import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BuiltWorker } from "../../src/dev/stack/bundle.ts";
import { HOST } from "../../src/dev/stack/ports.ts";
import { d1Binding, d1Services, miniflareExtensions } from "./d1.ts";

/** A file that the configuration embeds. */
export interface ModuleFile {
  /** The module's name, and with the service's name in front its path beside the configuration. */
  readonly name: string;
  readonly kind: "esModule" | "wasm";
  readonly contents: string | Uint8Array;
}

/** One service of a workerd configuration: its body in Cap'n Proto text, and the modules that the text embeds. */
export interface Service {
  readonly name: string;
  readonly body: string;
  readonly modules: readonly ModuleFile[];
}

export interface WorkerdOptions {
  readonly worker: BuiltWorker;
  /** Settings and secrets, over those of the Worker's wrangler.toml. */
  readonly vars?: Readonly<Record<string, string>>;
  /** Where D1 and the Durable Objects keep their data. */
  readonly stateDir?: string;
  /** A second Worker in the same process, on the socket `side`, that shares the first one's database. */
  readonly side?: BuiltWorker;
  /** Left out: V8 as workerd ships it. */
  readonly v8Flags?: readonly string[];
}

/** Folder, inside the state folder, of the Worker's own Durable Objects; each class has one of its own in it. */
export const OBJECTS_FOLDER = "objects";

/** The bindings of a built Worker that this configuration knows. */
interface Options {
  readonly compatibilityDate: string;
  readonly compatibilityFlags?: readonly string[];
  readonly bindings?: Readonly<Record<string, unknown>>;
  readonly d1Databases?: Readonly<Record<string, { readonly id: string }>>;
  readonly durableObjects?: Readonly<Record<string, { readonly className: string }>>;
}

/**
 * Writes a configuration for `workerd serve` into a folder: the Worker behind a socket of its own with nothing before it, its Durable
 * Objects on the local disk, its D1 databases served by Miniflare's D1 Worker. Answers the configuration's path.
 */
export async function writeConfig(folder: string, options: WorkerdOptions): Promise<string> {
  const databases = Object.values((options.worker.options as unknown as Options).d1Databases ?? {});
  const services: Service[] = [workerService("main", options)];
  if (options.side !== undefined) services.push(workerService("side", { ...options, worker: options.side, vars: {} }));
  const disks: string[] = [];
  const addDisk = async (name: string) => {
    const path = join(options.stateDir ?? folder, name);
    await mkdir(path, { recursive: true });
    disks.push(`(name = ${text(name)}, disk = (path = ${text(path)}, writable = true))`);
  };
  if (Object.keys((options.worker.options as unknown as Options).durableObjects ?? {}).length > 0)
    await addDisk(OBJECTS_FOLDER);
  if (databases.length > 0) {
    services.push(...(await d1Services("d1")));
    await addDisk("d1");
  }
  const extensions = databases.length > 0 ? await miniflareExtensions() : [];

  for (const { name, modules } of [...services, { name: "extensions", modules: extensions }]) {
    for (const module of modules) {
      const path = join(folder, moduleFile(name, module));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, module.contents);
    }
  }
  const sockets = services.filter(({ name }) => name === "main" || name === "side").map(({ name }) => socket(name));
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "internet", network = (allow = ["public", "private"])),
    ${[...disks, ...services.map((service) => `(name = ${text(service.name)}, worker = ${service.body})`)].join(",\n    ")}
  ],
  v8Flags = [${(options.v8Flags ?? []).map(text).join(", ")}],
  sockets = [${sockets.join(", ")}],
  extensions = [(modules = [${extensions
    .map((module) => `(name = ${text(module.name)}, esModule = embed ${text(moduleFile("extensions", module))})`)
    .join(", ")}])]
);
`;
  const path = join(folder, "config.capnp");
  await writeFile(path, config);
  return path;
}

/** The text of a list of modules, for a service's body. */
export function moduleList(service: string, modules: readonly ModuleFile[]): string {
  return `[${modules
    .map((module) => `(name = ${text(module.name)}, ${module.kind} = embed ${text(moduleFile(service, module))})`)
    .join(", ")}]`;
}

/** A string of ASCII as Cap'n Proto writes it. */
export function text(value: string): string {
  return JSON.stringify(value);
}

function moduleFile(service: string, { name }: ModuleFile): string {
  return `${service}/${name.replaceAll(":", "-")}`;
}

function socket(name: string): string {
  return `(name = ${text(name)}, address = "${HOST}:0", http = (), service = ${text(name)})`;
}

function workerService(name: string, { worker, vars }: WorkerdOptions): Service {
  const options = worker.options as unknown as Options;
  const modules = worker.modules.map(
    ({ path, type, contents }): ModuleFile => ({
      name: path,
      kind: type === "CompiledWasm" ? "wasm" : "esModule",
      contents,
    }),
  );
  const objects = Object.entries(options.durableObjects ?? {});
  const bindings = [
    ...Object.entries({ ...options.bindings, ...vars }).map(
      ([key, value]) => `(name = ${text(key)}, ${typeof value === "string" ? "text" : "json"} = ${asText(value)})`,
    ),
    ...Object.entries(options.d1Databases ?? {}).map(([key, { id }]) => d1Binding(key, id)),
    ...objects.map(([key, { className }]) => `(name = ${text(key)}, durableObjectNamespace = ${text(className)})`),
  ];
  const namespaces = objects.map(
    ([, { className }]) =>
      `(className = ${text(className)}, uniqueKey = ${text(`${name}-${className}`)}, enableSql = true)`,
  );
  const body = `(
      modules = ${moduleList(name, modules)},
      compatibilityDate = ${text(options.compatibilityDate)},
      compatibilityFlags = [${(options.compatibilityFlags ?? []).map(text).join(", ")}],
      bindings = [${bindings.join(", ")}],
      durableObjectNamespaces = [${namespaces.join(", ")}]${
        objects.length === 0 ? "" : `,\n      durableObjectStorage = (localDisk = ${text(OBJECTS_FOLDER)})`
      }
    )`;
  return { name, body, modules };
}

function asText(value: unknown): string {
  return text(typeof value === "string" ? value : JSON.stringify(value));
}
