/** A file of a site by the names of its folders and its own, or why a request cannot mean one. */
export type SitePath =
  | { readonly segments: readonly string[] }
  /** `malformed` cannot be decoded or has characters that no file of a site has; `hidden` could be one, and is never served. */
  | { readonly refused: "malformed" | "hidden" };

/** The one folder with a dot that every static host serves (RFC 8615). */
const WELL_KNOWN = ".well-known";

/** What a folder answers with. */
const FOLDER_PAGE = "index.html";

const MAX_PATH_LENGTH = 2_048;

/**
 * Reads the path of a request, as it came, query included. It is decoded once; what could still be read as a separator, a
 * climb, a drive, a stream, a device or an escape by anything behind us is refused, on every platform alike, so that a site
 * that works here works on a host that runs another.
 *
 * @param target such as `/skills/hello/tool.js?v=1`; a path that ends with a slash means the folder's `index.html`.
 */
export function readSitePath(target: string): SitePath {
  const path = /^[^?#]*/.exec(target)?.[0] ?? "";
  if (!path.startsWith("/") || path.length > MAX_PATH_LENGTH) return { refused: "malformed" };
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return { refused: "malformed" };
  }
  // Control characters, what Windows takes for a separator, drive, stream or wildcard, and escapes of a second encoding.
  if (/[\p{Cc}\p{Cs}\\:*?"<>|]|%[0-9a-f]{2}/iu.test(decoded)) return { refused: "malformed" };
  const segments = decoded.slice(1).split("/");
  if (segments.at(-1) === "") segments[segments.length - 1] = FOLDER_PAGE;
  if (segments.includes("")) return { refused: "malformed" };
  return isPublic(segments) ? { segments } : { refused: "hidden" };
}

/** Whether a file may be served by the names on its way, whoever asks and however it was spelled. */
export function isPublic(segments: readonly string[]): boolean {
  return segments.every((segment, depth) => (segment === WELL_KNOWN && depth === 0) || isPublicName(segment));
}

/** Names that begin with a dot are settings and secrets; those below are devices, or another name's second spelling, on Windows. */
function isPublicName(name: string): boolean {
  if (name.startsWith(".") || /[. ]$/.test(name)) return false;
  return !/^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$)[ ]*(?:\.|$)/i.test(name);
}
