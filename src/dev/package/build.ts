// Builds what the npm package carries: `npm run build:package`, and `npm pack` before it packs.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";
import { GENERATED_FOLDER } from "../meter/build.ts";
import { ROOT } from "../stack/paths.ts";
import { isCurrent } from "./freshness.ts";
import { licencesOf } from "./licences.ts";
import { buildTypes } from "./types.ts";

/** Where package.json points to. */
export const PACKAGE_FOLDER = join(ROOT, "dist/package");

/** The modules that users import, by the names of their files in the package. */
export const LIBRARY_ENTRIES = {
  index: "src/index.ts",
  host: "src/library/host.ts",
  "host-async": "src/library/host-async.ts",
  "mcp-core": "src/library/mcp-core.ts",
  "mcp-core-async": "src/library/mcp-core-async.ts",
  "llmstxt-parse": "src/library/llmstxt-parse.ts",
  "sigstore-attest": "src/library/sigstore-attest.ts",
  web: "src/browser/web.ts",
} as const;

const COMMAND = { skillgate: "src/local/skillgate.ts" };
const ENGINES = ["quickjs-jspi.wasm", "quickjs-asyncify.wasm"];
/** Written last: a build that was interrupted has none. */
const MARK = "THIRD-PARTY-LICENSES.txt";

const COMMON = {
  absWorkingDir: ROOT,
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2023",
  // Names stay: whoever reads a stack or steps through the package should find their way.
  minifySyntax: true,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
} as const satisfies BuildOptions;

/** The engines lie beside every module of the package. */
const enginesBeside: Plugin = {
  name: "engines-beside",
  setup({ onLoad }) {
    onLoad({ filter: /\/(?:engine-file|node-sandbox)\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const contents = source.replaceAll("../core/sandbox/generated/quickjs-", "./quickjs-");
      if (contents === source) throw new Error(`${path} no longer names the engines as the build expects`);
      return { contents, loader: "ts" };
    });
  },
};

/** What the Sigstore verifier asks of Node is asked for at run time: elsewhere all but that works. */
const nodeAtRunTime: Plugin = {
  name: "node-at-run-time",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:(?:crypto|util)$/ }, ({ path }) => ({ path, namespace: "node" }));
    onLoad({ filter: /.*/, namespace: "node" }, ({ path }) => ({
      contents: [
        `const found = globalThis.process?.getBuiltinModule?.(${JSON.stringify(path)}) ?? {};`,
        "export default found;",
        "export const { isDeepStrictEqual } = found;",
      ].join("\n"),
    }));
  },
};

/** The library for any platform: nothing of Node may be in it, and no import is left. */
export function bundleLibrary({ platform = "neutral", write = true }: Pick<BuildOptions, "platform" | "write"> = {}) {
  return build({
    ...COMMON,
    entryPoints: LIBRARY_ENTRIES,
    platform,
    write,
    // Some packages tell platforms apart by these alone.
    mainFields: ["module", "main"],
    conditions: ["browser"],
    outdir: PACKAGE_FOLDER,
    chunkNames: "shared-[hash]",
    plugins: [enginesBeside, nodeAtRunTime],
  });
}

function bundleCommand() {
  return build({
    ...COMMON,
    entryPoints: COMMAND,
    platform: "node",
    target: "node20.18",
    outdir: PACKAGE_FOLDER,
    chunkNames: "command-[hash]",
    plugins: [enginesBeside],
    // Bundled CommonJS asks for Node's own modules in its own way.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module";\nconst require = requireFrom(import.meta.url);',
    },
    // Node reads all of it at each start.
    minifyWhitespace: true,
  });
}

/** Builds the package's files from the sources and from what `npm run build` generates, unless the last build is newer than everything that they are made of. */
export async function buildPackage(): Promise<void> {
  if (await isCurrent(join(PACKAGE_FOLDER, MARK))) return;
  await rm(PACKAGE_FOLDER, { recursive: true, force: true });
  await mkdir(PACKAGE_FOLDER, { recursive: true });
  const library = await bundleLibrary();
  const command = await bundleCommand();
  for (const engine of ENGINES) {
    await writeFile(join(PACKAGE_FOLDER, engine), await readFile(join(GENERATED_FOLDER, engine)));
  }
  await buildTypes(Object.values(LIBRARY_ENTRIES), join(PACKAGE_FOLDER, "types"));
  await writeFile(join(PACKAGE_FOLDER, MARK), await licencesOf(inputsOf([library.metafile, command.metafile])));
}

function inputsOf(metafiles: readonly Metafile[]): readonly string[] {
  return metafiles.flatMap(({ inputs }) => Object.keys(inputs));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildPackage();
  console.error(`The package's files are in ${join(basename(dirname(PACKAGE_FOLDER)), basename(PACKAGE_FOLDER))}.`);
}
