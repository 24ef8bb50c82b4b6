import { ArchiveError, type ArchiveErrorCode, quoted } from "./archive-error.ts";

/** Longest path and link target, in bytes: the shortest `PATH_MAX` among the common systems (macOS). */
export const MAX_PATH_BYTES = 1024;
/** Longest part of a path, in bytes: what the file systems take. */
const MAX_COMPONENT_BYTES = 255;
/** Deepest path, in parts. Real skills have fewer than ten; a bound keeps the tree of a hostile archive small. */
const MAX_DEPTH = 64;

/** Controls, line separators, byte order marks and everything that turns the direction of text: no honest file name has them. */
const FORBIDDEN = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** A member's path, parsed; both end without a slash. */
export interface MemberPath {
  /** Relative to the root, without a leading `./`; empty for the root itself. */
  readonly path: string;
  readonly components: readonly string[];
  /** Whether the name was spelled with a leading `./`, which some installers drop. */
  readonly hasDotPrefix: boolean;
}

/** @throws {ArchiveError} `path` or `link`, as `code` says, for bytes that are not UTF-8. */
export function decodeName(bytes: Uint8Array, code: ArchiveErrorCode = "path"): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw new ArchiveError(code, "The name of a member is not valid UTF-8.", { cause });
  }
}

/**
 * Reads the name of a member; one slash at the end is left to directories. Attacker-controlled.
 *
 * @throws {ArchiveError} `path` for a name that is empty, absolute, too long or too deep, that has an empty, `.` or `..` part other than a
 *   leading `./`, a backslash, a drive letter, or a character nobody sees.
 */
export function parseMemberPath(name: string, isDirectory: boolean): MemberPath {
  checkText(name, "path");
  const trimmed = isDirectory && name.endsWith("/") ? name.slice(0, -1) : name;
  if (trimmed === "." && isDirectory) return { path: "", components: [], hasDotPrefix: true };
  const hasDotPrefix = trimmed.startsWith("./");
  const path = hasDotPrefix ? trimmed.slice(2) : trimmed;
  const components = path.split("/");
  if (components.length > MAX_DEPTH) throw badPath(name, `has more than ${MAX_DEPTH} parts`);
  for (const component of components) {
    if (component === "" || component === "." || component === "..") {
      throw badPath(name, "has a part that is empty, '.' or '..'");
    }
    if (encoder.encode(component).length > MAX_COMPONENT_BYTES) {
      throw badPath(name, `has a part of more than ${MAX_COMPONENT_BYTES} bytes`);
    }
  }
  return { path, components, hasDotPrefix };
}

/**
 * Reads a symbolic link's target into the parts to walk, `..` included; whether the walk stays inside is for the tree to say.
 *
 * @throws {ArchiveError} `link`
 */
export function parseLinkTarget(target: string): readonly string[] {
  checkText(target, "link");
  return target.split("/").filter((component) => component !== "" && component !== ".");
}

/** What no name and no link target may have. */
function checkText(text: string, code: "path" | "link"): void {
  const refuse = (fault: string) => {
    const what = code === "path" ? "name" : "link target";
    return new ArchiveError(code, `The ${what} ${quoted(text)} ${fault}.`);
  };
  if (text === "") throw refuse("is empty");
  if (text.length > MAX_PATH_BYTES || encoder.encode(text).length > MAX_PATH_BYTES) {
    throw refuse(`has more than ${MAX_PATH_BYTES} bytes`);
  }
  if (text.startsWith("/")) throw refuse("is absolute");
  if (text.includes("\\")) throw refuse("has a backslash, which some systems take for a separator");
  if (/^(?:\.\/)*[A-Za-z]:/.test(text)) throw refuse("begins with a drive letter");
  if (FORBIDDEN.test(text)) throw refuse("has a control or invisible character");
}

function badPath(name: string, fault: string): ArchiveError {
  return new ArchiveError("path", `The name ${quoted(name)} ${fault}.`);
}
