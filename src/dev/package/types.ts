import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { ROOT } from "../stack/paths.ts";

const SOURCE = join(ROOT, "src");
/** A relative import of a declaration: by `from`, by `import()`, or bare. */
const IMPORT = /(\bfrom\s+|\bimport\(|^import\s+)"(\.{1,2}\/[^"]+)\.(m?)ts"/gm;

/**
 * Writes the declarations of some modules and of all that these speak of.
 *
 * @param entries from the repository's root.
 * @throws with the compiler's words, when there is a type error.
 */
export async function buildTypes(entries: readonly string[], folder: string): Promise<void> {
  const declarations = declarationsOf(entries.map((entry) => join(ROOT, entry)));
  const wanted = entries.map((entry) => declarationOf(join(ROOT, entry)));
  await rm(folder, { recursive: true, force: true });
  for (let path = wanted.pop(), seen = new Set<string>(); path !== undefined; path = wanted.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const text = declarations.get(path) ?? (await readFile(path, "utf8"));
    for (const [, , target, m] of text.matchAll(IMPORT)) {
      wanted.push(declarationOf(resolve(dirname(path), `${target}.${m}ts`)));
    }
    const file = join(folder, relative(SOURCE, path));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text.replace(IMPORT, '$1"$2.$3js"'));
  }
}

function declarationOf(source: string): string {
  return source.replace(/\.(m?)ts$/, ".d.$1ts");
}

/** By the paths that they would have beside their sources. */
function declarationsOf(files: readonly string[]): ReadonlyMap<string, string> {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(
    { ...config.compilerOptions, noEmit: false, declaration: true, emitDeclarationOnly: true, stripInternal: true },
    ROOT,
  );
  const program = ts.createProgram([...files], options);
  const declarations = new Map<string, string>();
  const { diagnostics } = program.emit(undefined, (path, text) => declarations.set(resolve(path), text));
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (problems.length > 0) {
    const host = {
      getCanonicalFileName: (name: string) => name,
      getCurrentDirectory: () => ROOT,
      getNewLine: () => "\n",
    };
    throw new Error(ts.formatDiagnostics(problems, host));
  }
  return declarations;
}
