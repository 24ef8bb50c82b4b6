// Bundles the schema evaluator into one JavaScript expression for the sandbox: `npm run build:schema`.
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { writeGenerated } from "../generated-file.ts";

const ENTRY = fileURLToPath(new URL("../../core/schema/program.ts", import.meta.url));
const OUTPUT = fileURLToPath(new URL("../../core/schema/generated/validator-program.ts", import.meta.url));

/** The library's own `$ref` resolution needs `URL`, which the sandbox lacks; lowering replaces it, so it is left out. */
const withoutDereference: Plugin = {
  name: "without-dereference",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/dereference\.js$/ }, () => ({ path: "dereference", namespace: "left-out" }));
    onLoad({ filter: /.*/, namespace: "left-out" }, () => ({
      contents: "export function dereference() { throw new Error('schemas are dereferenced before they come here'); }",
    }));
  },
};

/** The text of `src/core/schema/generated/validator-program.ts`. The same input gives the same bytes. */
export async function bundleValidator(): Promise<string> {
  const result = await build({
    entryPoints: [ENTRY],
    bundle: true,
    write: false,
    format: "iife",
    globalName: "bundle",
    target: "es2022",
    minify: true,
    treeShaking: true,
    charset: "ascii",
    legalComments: "none",
    plugins: [withoutDereference],
  });
  const code = result.outputFiles[0]?.text.trim() ?? "";
  const expression = `(()=>{${code}return bundle.default})()`;
  return [
    "// Made by `npm run build:schema` from src/core/schema/program.ts. Do not edit.",
    "/** One JavaScript expression: a function of the schema program's input that returns its output. */",
    `export const VALIDATOR_PROGRAM = ${JSON.stringify(expression)};`,
    "",
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeGenerated(OUTPUT, await bundleValidator());
