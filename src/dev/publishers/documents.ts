import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { buildSnapshot, type SourceDocument } from "../../core/memory/building/build-snapshot.ts";
import { memoryLine } from "../../local/memory-build.ts";
import type { GeneratedFile } from "./generate.ts";

const SNAPSHOT = "/memory.json";
const FOLDER = "docs";
const INDEX = "index.json";

/**
 * What a site that publishes documents serves of them: copies, a list of them, and the snapshot that its tools search.
 *
 * @param paths of Markdown files below `root`.
 */
export async function publishDocuments(
  root: string,
  publicFolder: string,
  paths: readonly string[],
): Promise<{ readonly files: readonly GeneratedFile[]; readonly memoryLine: string }> {
  const documents = await Promise.all(
    paths.map(async (path): Promise<SourceDocument> => ({ path, text: await readFile(join(root, path), "utf8") })),
  );
  await refuseUnlisted(publicFolder, paths);
  const { bytes } = buildSnapshot(documents);
  const list = documents.map(({ path, text }) => ({
    id: path.replace(/\.md$/, ""),
    title: /^# (.+)$/m.exec(text)?.[1] ?? path,
    characters: [...text].length,
    path: `/${FOLDER}/${path}`,
  }));
  const file = (path: string, content: string) => ({ path: join(publicFolder, path), content });
  return {
    files: [
      file(SNAPSHOT, new TextDecoder().decode(bytes)),
      file(join(FOLDER, INDEX), `${JSON.stringify({ documents: list }, null, 2)}\n`),
      ...documents.map(({ path, text }) => file(join(FOLDER, path), text)),
    ],
    memoryLine: memoryLine(bytes, SNAPSHOT),
  };
}

/** A copy of a document that is not listed any more would be served for ever. */
async function refuseUnlisted(publicFolder: string, paths: readonly string[]): Promise<void> {
  const listed = new Set([INDEX, ...paths]);
  const folder = join(publicFolder, FOLDER);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1);
    if (entry.isFile() && !listed.has(path))
      throw new Error(`${join(folder, path)} is not listed in site.json: delete it.`);
  }
}
