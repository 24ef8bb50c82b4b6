import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../stack/paths.ts";

const PACKAGE_PATH = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;

/** Bundled by the steps before this one, or made from their binaries. */
const ALWAYS = ["@jitl/quickjs-wasmfile-release-sync", "@cfworker/json-schema", "@sigstore/verify", "@sigstore/bundle"];

/**
 * The licences of the packages of whose files a bundle was made.
 *
 * @param inputs paths from the repository's root.
 */
export async function licencesOf(inputs: readonly string[]): Promise<string> {
  const folders = new Set(ALWAYS.map((name) => `node_modules/${name}`));
  for (const input of inputs) {
    const [folder] = PACKAGE_PATH.exec(input) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
  const parts = await Promise.all([...folders].sort().map(licenceOf));
  return `The files of this package contain code of these packages.\n\n${parts.join("\n\n")}\n`;
}

async function licenceOf(folder: string): Promise<string> {
  const path = join(ROOT, folder);
  const { name, version, license } = JSON.parse(await readFile(join(path, "package.json"), "utf8"));
  const file = (await readdir(path)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? "" : `\n\n${(await readFile(join(path, file), "utf8")).trim()}`;
  return `${name} ${version} (${license})${text}`;
}
