// Bundles the Sigstore verifier into one module for workerd and Node: `npm run build:sigstore`.
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { writeGenerated } from "../generated-file.ts";

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const ENTRY = pathOf("../../core/attestation/sigstore/library.ts");
const OUTPUT = pathOf("../../core/attestation/sigstore/generated/library.mjs");
const TYPES = pathOf("../../core/attestation/sigstore/generated/library.d.mts");

/** Bundled once here, rather than by an alias in the settings of wrangler, vitest and every other bundler: all run the same. */
const nodeModules: Plugin = {
  name: "node-modules",
  setup({ onResolve }) {
    onResolve({ filter: /^crypto$/ }, () => ({ path: pathOf("crypto.ts") }));
    onResolve({ filter: /^util$/ }, () => ({ path: pathOf("util.ts") }));
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true }));
  },
};

/** The text of `generated/library.mjs`. The same input gives the same bytes. */
export async function bundleVerifier(): Promise<string> {
  const result = await build({
    entryPoints: [ENTRY],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    minify: true,
    treeShaking: true,
    legalComments: "none",
    mainFields: ["module", "main"],
    plugins: [nodeModules],
  });
  const code = result.outputFiles[0]?.text ?? "";
  return `// Made by \`npm run build:sigstore\` from src/core/attestation/sigstore/library.ts. Do not edit.\n${code}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeGenerated(OUTPUT, await bundleVerifier());
  writeGenerated(TYPES, 'export * from "../library.ts";\n');
}
