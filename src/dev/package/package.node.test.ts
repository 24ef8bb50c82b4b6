import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../stack/paths.ts";
import { bundleLibrary, LIBRARY_ENTRIES } from "./build.ts";
import { type InstalledPackage, installPackage } from "./fixture/installed.ts";

const run = promisify(execFile);

/** Node versions at hand: this one, and whatever the system has besides. */
const NODES = [process.execPath, "/usr/bin/node", "/usr/local/bin/node"].filter(existsSync);

let installed: InstalledPackage;
let folder = "";
let tarball: Uint8Array = new Uint8Array();
let packed: readonly string[] = [];

beforeAll(async () => {
  installed = await installPackage();
  ({ folder, tarball, packed } = installed);
}, 120_000);

afterAll(() => installed?.[Symbol.asyncDispose]());

/** Bundles a program that uses the installed package. */
async function bundleUser(source: string, platform: "browser" | "neutral" | "node") {
  return build({
    stdin: { contents: source, resolveDir: folder },
    bundle: true,
    write: false,
    splitting: true,
    format: "esm",
    outdir: join(folder, "out"),
    platform,
    metafile: true,
    logLevel: "silent",
  });
}

describe("the package", () => {
  it("has what is needed and nothing else", () => {
    const expected =
      /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|dist\/package\/(?:[\w-]+\.js|quickjs-(?:jspi|asyncify)\.wasm|THIRD-PARTY-LICENSES\.txt|types\/[\w/-]+\.d\.m?ts))$/;
    expect(packed.filter((path) => !expected.test(path))).toEqual([]);
    for (const path of ["LICENSE", "README.md", "CHANGELOG.md", "dist/package/skillgate.js", "dist/package/web.js"]) {
      expect(packed).toContain(path);
    }
  });

  it("names nothing of the machine that built it, and no other package to install", async () => {
    const manifest = JSON.parse(await readFile(join(folder, "node_modules/skillgate/package.json"), "utf8"));
    expect(manifest.dependencies ?? {}).toEqual({});
    expect(manifest.private).toBeUndefined();
    for (const path of packed.filter((name) => /\.(?:js|ts|json)$/.test(name))) {
      const text = await readFile(join(folder, "node_modules/skillgate", path), "utf8");
      expect(text.includes(ROOT), path).toBe(false);
    }
  });

  it("is as publint wants it", async () => {
    const { messages, pkg } = await publint({
      pkgDir: join(folder, "node_modules/skillgate"),
      pack: false,
      strict: true,
    });
    expect(messages.map((message) => formatMessage(message, pkg as never))).toEqual([]);
  });

  it("has types that are right wherever modules are resolved by their exports", async () => {
    const analysis = await checkPackage(createPackageFromTarballData(tarball));
    if (!analysis.types) throw new Error("the package has no types");
    // CommonJS and the resolution of Node 10 know no `exports`: this package is of modules alone.
    const problems = analysis.problems.filter((problem) => {
      const kind = "resolutionKind" in problem ? problem.resolutionKind : null;
      return kind !== "node10" && kind !== "node16-cjs" && problem.kind !== "CJSResolvesToESM";
    });
    expect(problems.filter((problem) => !("entrypoint" in problem && /\.wasm$/.test(problem.entrypoint)))).toEqual([]);
  });

  it.each([
    { types: ["node"], lib: ["lib.es2023.d.ts"], how: "Node16" },
    { types: [], lib: ["lib.es2023.d.ts", "lib.dom.d.ts"], how: "Bundler" },
  ] as const)("is checked as a whole by a strict program that has the types $types, $lib", async (platform) => {
    const file = join(folder, "strict.mts");
    await writeFile(
      file,
      [
        "skillgate",
        ...Object.keys(LIBRARY_ENTRIES)
          .slice(1)
          .map((name) => `skillgate/${name}`),
      ]
        .map((name) => `export type {} from ${JSON.stringify(name)};`)
        .join("\n"),
    );
    const program = ts.createProgram([file], {
      noEmit: true,
      strict: true,
      exactOptionalPropertyTypes: true,
      target: ts.ScriptTarget.ES2022,
      module: platform.how === "Bundler" ? ts.ModuleKind.ESNext : ts.ModuleKind.Node16,
      moduleResolution: ts.ModuleResolutionKind[platform.how],
      lib: [...platform.lib],
      types: [...platform.types],
      typeRoots: [join(ROOT, "node_modules/@types"), join(ROOT, "node_modules")],
    });
    const problems = ts.getPreEmitDiagnostics(program);
    expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))).toEqual([]);
    expect(program.getSourceFiles().some(({ fileName }) => fileName.endsWith("types/browser/web.d.ts"))).toBe(true);
  });

  it.each(NODES)("runs without TypeScript on %s", async (node) => {
    const script = join(folder, "use.mjs");
    const imports = [
      "skillgate",
      ...Object.keys(LIBRARY_ENTRIES)
        .slice(1)
        .map((name) => `skillgate/${name}`),
    ];
    await writeFile(
      script,
      `${imports.map((name) => `await import(${JSON.stringify(name)});`).join("\n")}
      import { AsyncToolHost, ToolHost } from "skillgate";
      const told = [];
      for (const host of [new ToolHost(), new AsyncToolHost()]) {
        await host.init();
        host.loadToolSource('registerTool({ name: "twice", handler: ({ n }) => n * 2 })');
        told.push(await host.callTool("twice", { n: 21 }));
        host.dispose();
      }
      console.log(JSON.stringify(told));`,
    );
    expect((await run(node, [script], { cwd: folder })).stdout.trim()).toBe("[42,42]");
    const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    const command = await run(node, [join(folder, "node_modules/.bin/skillgate"), "--version"], { cwd: folder });
    expect(command.stdout.trim()).toBe(version);
  });
});

describe("the library's bundles", () => {
  it.each(["neutral", "browser"] as const)(
    "have nothing of Node, of the gateway or of the command on platform %s",
    async (platform) => {
      const { metafile, outputFiles } = await bundleLibrary({ platform, write: false });
      expect(
        Object.values(metafile.outputs).flatMap(({ imports }) => imports.filter(({ external }) => external)),
      ).toEqual([]);
      const foreign = Object.keys(metafile.inputs).filter((path) => /^src\/(?:gateway|local|dev)\/|^node:/.test(path));
      expect(foreign.filter((path) => path !== "node:node:crypto" && path !== "node:node:util")).toEqual([]);
      for (const { text } of outputFiles ?? []) expect(text).not.toMatch(/\bfrom\s*"node:|\brequire\(/);
    },
  );

  it.each(["neutral", "browser"] as const)("are found by a user's bundler on platform %s", async (platform) => {
    const { metafile } = await bundleUser(
      'import { connectStaticSkills } from "skillgate/web"; connectStaticSkills("");',
      platform,
    );
    expect(
      Object.values(metafile.outputs).flatMap(({ imports }) => imports.filter(({ external }) => external)),
    ).toEqual([]);
  });

  it("leave behind what nobody uses", async () => {
    const bytesOf = async (source: string) => {
      const { outputFiles } = await bundleUser(source, "neutral");
      return outputFiles.reduce((sum, { contents }) => sum + contents.length, 0);
    };
    const parser = await bytesOf('import { parseLlmsTxt } from "skillgate"; console.log(parseLlmsTxt(""));');
    const host = await bytesOf('import { ToolHost } from "skillgate"; console.log(ToolHost);');
    expect(parser).toBeLessThan(host / 4);
    expect(await bytesOf('import "skillgate";')).toBe(0);
  });
});
