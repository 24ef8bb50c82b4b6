import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { parseLlmsTxt } from "../../core/llmstxt/parse.ts";
import { BuildError } from "../../core/memory/building/build-error.ts";
import { buildSnapshot } from "../../core/memory/building/build-snapshot.ts";
import { CommandError } from "../command-error.ts";
import { memoryLine, readMarkdown } from "../memory-build.ts";
import type { LlmsTxtLines } from "./llms-txt-lines.ts";
import type { SiteDraft } from "./site-draft.ts";

const FOLDER = "memory";

/**
 * Makes the snapshots of a site: what `memory.json` is, the Markdown of the folder `memory` beside it says, and so with every
 * snapshot that a line of `llms.txt` names. One without such a folder is hashed as it is. A folder `memory` of its own gets
 * its line.
 */
export async function buildSnapshots(draft: SiteDraft, text: LlmsTxtLines): Promise<void> {
  const { memories } = parseLlmsTxt(text.toString());
  for (const { line, snapshot, supported } of memories) {
    const path = supported ? draft.locate(snapshot) : null;
    if (path === null) continue;
    await makeFromFolder(draft, path);
    const bytes = await draft.read(path);
    if (bytes === null) {
      draft.fail(path, "absent", `Line ${line} of llms.txt names the snapshot ${path}, which is not there.`);
      continue;
    }
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    text.setMemoryHash(line, sha256, `the memory line: snapshot_sha256 is not that of ${path}`);
  }
  const isListed = memories.some(({ scope, supported }) => supported && scope === null);
  if (isListed || !(await makeFromFolder(draft, `${FOLDER}.json`))) return;
  const bytes = await draft.read(`${FOLDER}.json`);
  if (bytes !== null)
    text.insertMemory(memoryLine(bytes, `${FOLDER}.json`), `the memory line of ${FOLDER}/ is missing`);
}

/** Whether there is a folder of Markdown for this snapshot. */
async function makeFromFolder(draft: SiteDraft, path: string): Promise<boolean> {
  if (!path.endsWith(".json")) return false;
  const folder = path.slice(0, -".json".length);
  const facts = await lstat(join(draft.folder, folder)).catch(() => null);
  if (!facts?.isDirectory()) return false;
  try {
    const { bytes } = buildSnapshot(await readMarkdown(join(draft.folder, folder), folder));
    await draft.write(path, bytes, [`is not what ${folder}/ gives`]);
    return true;
  } catch (error) {
    if (!(error instanceof BuildError) && !(error instanceof CommandError)) throw error;
    draft.fail(folder, error.code, error.message);
    return false;
  }
}
