import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../src/dev/stack/paths.ts";

/** A file of each part, what it imports, and whether the rule of the house lets it. */
const IMPORTS: readonly (readonly [file: string, specifier: string, verdict: "allowed" | "forbidden"])[] = [
  ["src/core/a.ts", "./b.ts", "allowed"],
  ["src/core/mcp/a.ts", "../json.ts", "allowed"],
  ["src/core/a.ts", "../gateway/env.ts", "forbidden"],
  ["src/core/mcp/a.ts", "../../gateway/registry/schema.ts", "forbidden"],
  ["src/core/a.ts", "../local/serve.ts", "forbidden"],
  ["src/core/a.ts", "../browser/connect.ts", "forbidden"],
  ["src/core/a.ts", "../dev/stack.ts", "forbidden"],
  ["src/core/a.ts", "node:fs", "forbidden"],
  ["src/core/deep/er/a.ts", "node:crypto", "forbidden"],
  ["src/core/a.ts", "cloudflare:workers", "forbidden"],
  ["src/core/a.test.ts", "node:http", "allowed"],
  ["src/core/a.test.ts", "../gateway/env.ts", "forbidden"],
  ["src/gateway/a.ts", "../core/json.ts", "allowed"],
  ["src/gateway/a.ts", "cloudflare:workers", "allowed"],
  ["src/gateway/a.ts", "../local/serve.ts", "forbidden"],
  ["src/gateway/auth/a.ts", "../../browser/connect.ts", "forbidden"],
  ["src/gateway/a.ts", "../dev/stack.ts", "forbidden"],
  ["src/local/a.ts", "../core/json.ts", "allowed"],
  ["src/local/a.ts", "node:fs", "allowed"],
  ["src/local/a.ts", "../gateway/env.ts", "forbidden"],
  ["src/local/a.ts", "../browser/connect.ts", "forbidden"],
  ["src/browser/a.ts", "../core/json.ts", "allowed"],
  ["src/browser/a.ts", "../gateway/env.ts", "forbidden"],
  ["src/browser/a.ts", "../local/serve.ts", "forbidden"],
  ["src/browser/a.ts", "node:fs", "forbidden"],
];

/** How a file can reach another one; the rule must see them all. */
const FORMS = {
  "import type": (from: string) => `import type { x } from "${from}";\nexport type Y = typeof x;\n`,
  import: (from: string) => `import { x } from "${from}";\nexport const y = x;\n`,
  "export from": (from: string) => `export { x } from "${from}";\n`,
  "import()": (from: string) => `export const y = import("${from}");\n`,
} as const;

let folder: string;
/** Files, by their path in the copy, whose imports the linter refused. */
let refused: ReadonlySet<string>;

/** A name of its own for each import, in the folder of the file that stands for it. */
const sampleName = (file: string, row: number, form: number) =>
  join(dirname(file), `sample-${row}-${form}${file.endsWith(".test.ts") ? ".test.ts" : ".ts"}`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-imports-"));
  for (const name of ["biome.json", ".gitignore"]) await copyFile(join(ROOT, name), join(folder, name));
  for (const [row, [file, specifier]] of IMPORTS.entries()) {
    for (const [form, write] of Object.values(FORMS).entries()) {
      const path = join(folder, sampleName(file, row, form));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, write(specifier));
    }
  }
  refused = await lint(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the linter as `npm run lint` does, on the one rule; answers the files it complains about. */
async function lint(cwd: string): Promise<ReadonlySet<string>> {
  const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
  const args = [biome, "lint", "--only=style/noRestrictedImports", "--max-diagnostics=none", "--reporter=json"];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd, maxBuffer: 16_777_216 }, (_error, stdout) => resolve(stdout));
  });
  const report = JSON.parse(output) as {
    diagnostics: { category: string; location: { path: string | { file: string } } }[];
  };
  return new Set(
    report.diagnostics
      .filter(({ category }) => category === "lint/style/noRestrictedImports")
      .map(({ location: { path } }) => (typeof path === "string" ? path : path.file)),
  );
}

describe("the lint rule for import directions", () => {
  it.each(IMPORTS.map((row, index) => ({ row, index })))("$row.0 importing $row.1 is $row.2", ({ row, index }) => {
    const [file, , verdict] = row;
    const seen = Object.keys(FORMS).filter((_, form) => refused.has(sampleName(file, index, form)));
    expect(seen).toEqual(verdict === "forbidden" ? Object.keys(FORMS) : []);
  });
});
