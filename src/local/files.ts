import { readFile, rename, rm, writeFile } from "node:fs/promises";
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

/** Writes a file whole or not at all. @throws {CommandError} `bad_file`. */
export async function writeWhole(
  file: string,
  content: string | Uint8Array,
  { cwd }: Pick<Terminal, "cwd">,
): Promise<void> {
  const path = resolve(cwd, file);
  const partial = `${path}.${process.pid}.partial`;
  try {
    await writeFile(partial, content);
    await rename(partial, path);
  } catch (error) {
    throw new CommandError("bad_file", `The file ${file} cannot be written (${errorCode(error)}).`);
  } finally {
    await rm(partial, { force: true });
  }
}

/** Such as `ENOENT`. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
}
