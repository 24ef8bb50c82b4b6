import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { CommandError } from "../command-error.ts";
import { errorCode } from "../files.ts";
import type { Terminal } from "../terminal.ts";
import { isPublic } from "./site-path.ts";

/** Largest file of a site that is read, bytes: what a whole release may have. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** A file's exact bytes, or why there are none. */
export type SiteReading =
  | { readonly ok: true; readonly bytes: Uint8Array /** Where it really lies. */; readonly file: string }
  | {
      readonly ok: false;
      readonly code: "absent" | "outside_site" | "too_large" | "unreadable";
      readonly message: string;
    };

/** The files of a site in a folder. What it does not give, a server of the folder does not give either. */
export interface SiteFiles {
  /** Absolute, links resolved. */
  readonly folder: string;
  /** @param segments names that {@link isPublic} lets through, from the site's root. */
  read(segments: readonly string[]): Promise<SiteReading>;
}

/** @throws {CommandError} `bad_file` for what is no folder. */
export async function openSite(folder: string, { cwd }: Pick<Terminal, "cwd">): Promise<SiteFiles> {
  const path = resolve(cwd, folder);
  let root: string;
  try {
    root = await realpath(path);
    if (!(await stat(root)).isDirectory()) throw new CommandError("bad_file", `${folder} is not a folder.`);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError("bad_file", `The folder ${folder} cannot be read (${errorCode(error)}).`);
  }
  return { folder: root, read: (segments) => readInside(root, segments) };
}

async function readInside(root: string, segments: readonly string[]): Promise<SiteReading> {
  const shown = segments.join("/");
  const fail = (code: Exclude<SiteReading, { ok: true }>["code"], why: string): SiteReading => ({
    ok: false,
    code,
    message: `The file ${shown} ${why}.`,
  });
  let handle: FileHandle | undefined;
  try {
    const file = await realpath(join(root, ...segments));
    if (!isInside(root, file)) return fail("outside_site", "is a link that leaves the site, or leads to a hidden file");
    if (isOtherCase(relative(root, file), segments.join(sep))) return fail("absent", "has another spelling on disk");
    // A pipe would block, and a link that has come since would lead elsewhere.
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0));
    if (!(await leadsTo(handle, file))) return fail("outside_site", "became a link while it was opened");
    const facts = await handle.stat();
    if (!facts.isFile()) return fail("absent", "is not a file");
    if (facts.size > MAX_FILE_BYTES) return fail("too_large", `is larger than ${MAX_FILE_BYTES} bytes, the limit`);
    return { ok: true, bytes: await handle.readFile(), file };
  } catch (error) {
    const code = errorCode(error);
    if (code === "ELOOP") return fail("absent", "is a link that leads to itself");
    const isAbsent = code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG" || code === "EISDIR";
    return isAbsent ? fail("absent", "is not there") : fail("unreadable", `cannot be read (${code})`);
  } finally {
    await handle?.close();
  }
}

/**
 * Whether what was opened is the file of that path. A folder on the way may have become a link since the path was resolved. Linux tells
 * where an open file lies; elsewhere the path must still end at itself, and at the same file.
 */
async function leadsTo(handle: FileHandle, file: string): Promise<boolean> {
  const opened = await realpath(`/proc/self/fd/${handle.fd}`).catch(() => null);
  if (opened !== null) return opened === file;
  const [is, now] = await Promise.all([handle.stat(), stat(file)]);
  return is.ino === now.ino && is.dev === now.dev && (await realpath(file)) === file;
}

/** Where a path ends that links may have bent: below the root, through no hidden name. */
export function isInside(root: string, file: string): boolean {
  const path = relative(root, file);
  return (
    path !== "" &&
    !path.startsWith(`..${sep}`) &&
    path !== ".." &&
    !/^(?:[a-z]:|[\\/])/i.test(path) &&
    isPublic(path.split(sep))
  );
}

/** A file system without case gives what the web host, which has it, will not. */
function isOtherCase(real: string, asked: string): boolean {
  const [one, other] = [real.normalize(), asked.normalize()];
  return one !== other && one.toLowerCase() === other.toLowerCase();
}
