import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CommandError } from "../command-error.ts";
import { errorCode, realPathOf, writeWhole } from "../files.ts";
import { isInside, type SiteFiles } from "../serve/site-files.ts";
import type { DraftedFile } from "./site-draft.ts";

/**
 * Writes each file of a build whole or not at all, through links that stay in the site. Nothing is written where one of them lies elsewhere, or
 * is not what it was when the build read it: somebody else wrote it since.
 *
 * @throws {CommandError} `bad_file`.
 */
export async function writeSite(site: SiteFiles, changed: readonly DraftedFile[]): Promise<void> {
  for (const { path } of changed) await checkPlace(site.folder, path);
  for (const { path, before } of changed) {
    const reading = await site.read(path.split("/"));
    const isSame = reading.ok ? before !== null && Buffer.compare(reading.bytes, before) === 0 : before === null;
    if (!isSame)
      throw new CommandError("bad_file", `The file ${path} changed while the site was built: build it again.`);
  }
  for (const { path, bytes } of changed) {
    try {
      await mkdir(dirname(join(site.folder, path)), { recursive: true });
    } catch (error) {
      throw new CommandError("bad_file", `The folder of ${path} cannot be made (${errorCode(error)}).`);
    }
    await writeWhole(path, bytes, { cwd: site.folder });
  }
}

/** Before any folder is made: one may lie behind a link. */
async function checkPlace(folder: string, path: string): Promise<void> {
  const names = path.split("/");
  for (let depth = 1; depth <= names.length; depth++) {
    const place = join(folder, ...names.slice(0, depth));
    const real = await realPathOf(place).catch(() => null);
    if (real === null || !isInside(folder, real)) {
      const what = depth === names.length ? `The file ${path}` : `The folder of ${path}`;
      throw new CommandError("bad_file", `${what} is a link that leaves the site, or leads nowhere.`);
    }
  }
}
