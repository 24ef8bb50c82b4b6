import { randomUUID } from "node:crypto";
import { lstat, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { decodeUtf8 } from "../core/integrity.ts";
import type { Json } from "../core/json.ts";
import { CommandError } from "./command-error.ts";
import type { Terminal } from "./terminal.ts";

/** @throws {CommandError} `bad_file` naming the file and what is wrong with it. */
export async function readTextFile(file: string, { cwd }: Pick<Terminal, "cwd">): Promise<string> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(resolve(cwd, file));
  } catch (error) {
    throw new CommandError("bad_file", `The file ${file} cannot be read (${errorCode(error)}).`);
  }
  try {
    return decodeUtf8(bytes);
  } catch {
    throw new CommandError("bad_file", `The file ${file} is not valid UTF-8.`);
  }
}

/** @throws {CommandError} `bad_file`. */
export async function readJsonFile(file: string, terminal: Pick<Terminal, "cwd">): Promise<Json> {
  const text = await readTextFile(file, terminal);
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new CommandError("bad_file", `The file ${file} is not valid JSON.`);
  }
}

/** Reads what an `attestations.json` is: an array, whose entries are judged elsewhere. @throws {CommandError} `bad_file`. */
export async function readAttestationsFile(file: string, terminal: Pick<Terminal, "cwd">): Promise<readonly Json[]> {
  const content = await readJsonFile(file, terminal);
  if (Array.isArray(content)) return content as readonly Json[];
  throw new CommandError("bad_file", `The file ${file} is not a JSON array of attestations.`);
}

/** Writes a file whole or not at all. A link is written through, and a mode stays. @throws {CommandError} `bad_file`. */
export async function writeWhole(
  file: string,
  content: string | Uint8Array,
  { cwd }: Pick<Terminal, "cwd">,
): Promise<void> {
  try {
    const path = await realPathOf(resolve(cwd, file));
    if (path === null) throw new CommandError("bad_file", `The file ${file} is a link that leads nowhere.`);
    await replaceFile(path, content);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError("bad_file", `The file ${file} cannot be written (${errorCode(error)}).`);
  }
}

/**
 * Puts content in the place of a file, or where there is none, whole or not at all: it is on disk beside it before it takes its place. The
 * mode of the file before stays.
 *
 * @param path absolute; a link would be replaced.
 * @param confirm called before the content is visible; what it throws leaves everything as it was.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  confirm: () => Promise<void> = async () => {},
): Promise<void> {
  const partial = `${path}.${randomUUID()}.partial`;
  try {
    const mode = (await stat(path).catch(() => null))?.mode;
    const handle = await open(partial, "wx");
    try {
      // Whatever the umask is.
      if (mode !== undefined) await handle.chmod(mode & 0o777);
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await confirm();
    await rename(partial, path);
  } finally {
    await rm(partial, { force: true });
  }
}

/** Where a path ends that links may have bent; itself where nothing is there; `null` for a link that leads nowhere. */
export async function realPathOf(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return (await lstat(path).catch(() => null)) === null ? path : null;
  }
}

/** Such as `ENOENT`. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
}
