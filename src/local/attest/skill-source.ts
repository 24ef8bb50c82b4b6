import { readFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { type Checked, passed } from "../../core/discovery/checked.ts";
import { type DeclaredFile, Downloads } from "../../core/discovery/downloads.ts";
import type { OriginFetcher } from "../../core/fetch/origin-fetch.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import { DEFAULT_DISCOVERY_LIMITS } from "../../core/limits.ts";
import type { SkillLine } from "../../core/llmstxt/llmstxt.ts";
import { parseLlmsTxt } from "../../core/llmstxt/parse.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { CommandError } from "../command-error.ts";
import { readTextFile } from "../files.ts";
import type { Terminal } from "../terminal.ts";
import { stringsOf, type WorkerStrings } from "./worker-strings.ts";

/** Where a reviewer's lines and scripts come from. */
export interface SkillSource {
  /** Executable lines, in document order. */
  readonly lines: readonly SkillLine[];
  /** The bytes whose SHA-256 is the declared one, or why there are none. */
  readonly readTool: (tool: DeclaredFile) => Promise<Checked<Uint8Array>>;
}

interface Site {
  readonly origin: CanonicalOrigin;
  readonly fetch: OriginFetcher;
}

/** What the site serves at this moment. @throws {CommandError} `discovery_failed`, `no_skills`. */
export async function publishedSource(site: Site): Promise<SkillSource> {
  const downloads = downloadsOf(site);
  const { llmsTxtBytes } = DEFAULT_DISCOVERY_LIMITS;
  const file = await downloads.plain(new URL(`${site.origin}/llms.txt`), llmsTxtBytes, "llms.txt");
  if (!file.ok) throw new CommandError("discovery_failed", file.message);
  return {
    lines: executableLines(new TextDecoder().decode(file.value), "llms.txt"),
    readTool: (tool) => downloads.verified(tool),
  };
}

/**
 * A site that is about to be published: its `llms.txt`, and the scripts below the folder of it. A script that is not there,
 * or is another one, is asked of the site as it stands.
 *
 * @throws {CommandError} `bad_file`, `no_skills`.
 */
export async function folderSource(site: Site, llmsTxt: string, terminal: Pick<Terminal, "cwd">): Promise<SkillSource> {
  const downloads = downloadsOf(site);
  const folder = dirname(resolve(terminal.cwd, llmsTxt));
  return {
    lines: executableLines(await readTextFile(llmsTxt, terminal), llmsTxt),
    readTool: async (tool) => {
      const path = pathBelow(folder, site.origin, tool.url);
      const bytes = path === null ? null : await readFile(path).catch(() => null);
      const isIt = bytes !== null && bytes.length <= tool.maxBytes && (await sha256Hex(bytes)) === tool.sha256;
      return isIt ? passed(bytes) : downloads.verified(tool);
    },
  };
}

/** Where a URL of the site lies in its folder; `null` for what no file can be named. */
function pathBelow(folder: string, origin: CanonicalOrigin, url: URL): string | null {
  const base = new URL(origin).pathname.replace(/\/$/, "");
  try {
    const path = join(folder, decodeURIComponent(url.pathname.slice(base.length)));
    // Encoded separators and dots can climb where the URL did not.
    return path.startsWith(folder + sep) ? path : null;
  } catch {
    return null;
  }
}

/**
 * A site built into a Worker script, which has its files as strings: `llms.txt` is the one named `LLMS_TXT`, or the only one
 * with executable lines; a script is whichever has the declared hash. What is not in there is asked of the site.
 *
 * @throws {CommandError} `bad_file`, `no_skills`.
 */
export async function workerSource(site: Site, script: string, terminal: Pick<Terminal, "cwd">): Promise<SkillSource> {
  const downloads = downloadsOf(site);
  const strings = stringsOf(await readTextFile(script, terminal));
  if (strings === null) throw new CommandError("bad_file", `The file ${script} is not JavaScript.`);
  const text = embeddedLlmsTxt(strings, script);
  const bytesByHash = new Map<Sha256Hex, Uint8Array>();
  for (const content of strings.all) {
    const bytes = new TextEncoder().encode(content);
    bytesByHash.set(await sha256Hex(bytes), bytes);
  }
  return {
    lines: executableLines(text, script),
    readTool: async (tool) => {
      const bytes = bytesByHash.get(tool.sha256);
      return bytes !== undefined && bytes.length <= tool.maxBytes ? passed(bytes) : downloads.verified(tool);
    },
  };
}

function downloadsOf({ origin, fetch }: Site): Downloads {
  const limits = DEFAULT_DISCOVERY_LIMITS;
  return new Downloads({ origin, fetch, limits, signal: AbortSignal.timeout(limits.deadlineMs) });
}

function executableLines(text: string, file: string): readonly SkillLine[] {
  const { skills } = parseLlmsTxt(text);
  if (skills.length === 0) throw new CommandError("no_skills", `The file ${file} lists no executable skill.`);
  return skills;
}

function embeddedLlmsTxt({ all, named }: WorkerStrings, script: string): string {
  const constant = named("LLMS_TXT");
  if (constant !== undefined) return constant;
  const documents = new Set(all.filter(hasExecutableLines));
  const [only, ...others] = documents;
  if (only !== undefined && others.length === 0) return only;
  const what = only === undefined ? "no string" : `${documents.size} strings`;
  throw new CommandError(
    "bad_file",
    `The file ${script} has ${what} with executable lines of an llms.txt; it needs one.`,
  );
}

function hasExecutableLines(text: string): boolean {
  return text.includes("tool_sha256") && parseLlmsTxt(text).skills.length > 0;
}
