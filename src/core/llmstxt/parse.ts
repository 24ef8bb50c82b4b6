import type { JsonObject } from "../json.ts";
import { findTaggedComment } from "./comment.ts";
import type { BadMemoryLine, LlmsTxt, MemoryLine, ProseCode, ProseLine, SkillLine } from "./llmstxt.ts";
import { Scanner } from "./scanner.ts";

export type { BadMemoryLine, LlmsTxt, MemoryLine, ProseCode, ProseLine, SkillLine } from "./llmstxt.ts";

const SUPPORTED_MEMORY_FORMAT = "minimemory-okf-v1";
const BAD_SCOPE = "The scope must be a string that matches ^[a-z][a-z0-9_-]*$.";

const PROSE_REASONS: Readonly<Record<ProseCode, string>> = {
  no_metadata: "The line ends with no skill metadata, so the skill is a link for people.",
  bad_metadata: "The skill metadata is not valid JSON.",
  bad_scope: BAD_SCOPE,
  no_tool: "The skill metadata lacks tool or tool_sha256, so the skill is a link for people.",
};

/**
 * Parses the skills of an `llms.txt` (skills in llms.txt v0.10, Executable Skills v0.5). Untrusted input of any content:
 * it never throws, and its work grows linearly with the length.
 *
 * Skills are the bullets `- [name](link): description <!-- skill: {…} -->` under a heading `## Skills`, each on one line.
 * Memory comments `<!-- skills-memory: {…} -->` stand alone on a line anywhere. The first *supported* memory line of a
 * scope wins; a line of another format is reported with `supported: false` and hides nothing.
 *
 * @param text the decoded file; a byte order mark and CRLF make no difference.
 * @example `parseLlmsTxt("## Skills\n- [sum](/sum/SKILL.md): Adds").prose[0]?.code // "no_metadata"`
 */
export function parseLlmsTxt(text: string): LlmsTxt {
  return parseWith(new Scanner(text));
}

/** {@link parseLlmsTxt} over a given scanner, whose `steps` then tell the work done. */
export function parseWith(scanner: Scanner): LlmsTxt {
  const skills: SkillLine[] = [];
  const prose: ProseLine[] = [];
  const memories = new MemoryLines();
  const { length } = scanner.text;
  let inSection = false;
  let line = 0;
  for (let start = 0; start < length; ) {
    line += 1;
    const newline = scanner.find("\n", start, length);
    const next = newline === -1 ? length : newline;
    // A carriage return before the newline is trailing white space to every rule below; a lone one is no line break.
    const begin = scanner.skipSpace(start, next);
    const end = scanner.trimEnd(begin, next);
    start = next + 1;
    switch (scanner.text[begin]) {
      case "#":
        inSection = nextSection(scanner, begin, end, inSection);
        break;
      case "-": {
        const found = inSection ? readSkillLine(scanner, line, begin, end) : null;
        if (found !== null) {
          if ("code" in found) prose.push(found);
          else skills.push(found);
        }
        break;
      }
      case "<": {
        const comment = findTaggedComment(scanner, "skills-memory:", begin, end, false);
        if (comment !== null) memories.add(line, comment.json);
        break;
      }
    }
  }
  return { skills, prose, memories: memories.lines, badMemories: memories.bad };
}

/** Whether the Skills section is open after a line: `## Skills` opens it, any other level-2 heading closes it. */
function nextSection(scanner: Scanner, begin: number, end: number, open: boolean): boolean {
  const hashes = scanner.after("##", begin, end);
  if (hashes === -1 || hashes >= end || !scanner.isSpaceAt(hashes)) return open;
  const title = scanner.skipSpace(hashes, end);
  // ASCII letters only: toLowerCase would also fold the Kelvin sign to k.
  return end - title === "skills".length && /^skills$/i.test(scanner.slice(title, end));
}

/** A bullet of the section, or `null` for a line that is no skill line at all. `begin` is at the `-`. */
function readSkillLine(scanner: Scanner, line: number, begin: number, end: number): SkillLine | ProseLine | null {
  const bracket = scanner.skipSpace(begin + 1, end);
  if (bracket === begin + 1) return null;
  const nameStart = scanner.after("[", bracket, end);
  if (nameStart === -1) return null;
  const nameEnd = scanner.find("]", nameStart, end);
  if (nameEnd <= nameStart) return null;
  const urlStart = scanner.after("](", nameEnd, end);
  if (urlStart === -1) return null;
  const urlEnd = scanner.find(")", urlStart, end);
  if (urlEnd === -1) return null;
  const colonEnd = scanner.after("):", urlEnd, end);
  if (colonEnd === -1) return null;

  const textStart = scanner.skipSpace(colonEnd, end);
  const comment = findTaggedComment(scanner, "skill:", textStart, end, true);
  const textEnd = comment === null ? end : scanner.trimEnd(textStart, comment.start);
  const name = scanner.slice(nameStart, nameEnd);
  const url = scanner.slice(urlStart, urlEnd);
  const description = scanner.slice(textStart, textEnd);

  const asProse = (code: ProseCode): ProseLine => ({ line, name, url, description, code, reason: PROSE_REASONS[code] });
  if (comment === null) return asProse("no_metadata");
  if (comment.json === null) return asProse("bad_metadata");
  const scope = readScope(comment.json);
  if (scope === undefined) return asProse("bad_scope");
  const { tool, tool_sha256: toolSha256, version, sha256 } = comment.json;
  if (typeof tool !== "string" || typeof toolSha256 !== "string") return asProse("no_tool");
  return {
    line,
    scope,
    name,
    description,
    tool,
    toolSha256,
    version: typeof version === "string" ? version : null,
    recipeUrl: url,
    recipeSha256: typeof sha256 === "string" ? sha256 : null,
  };
}

/** The declared scope, `null` where none is declared, `undefined` where it is malformed (also `null`, `""` or a number). */
function readScope(json: JsonObject): string | null | undefined {
  if (!Object.hasOwn(json, "scope")) return null;
  const { scope } = json;
  return typeof scope === "string" && /^[a-z][a-z0-9_-]*$/.test(scope) ? scope : undefined;
}

/** Collects memory lines: per scope at most one of the supported format and one of another. */
class MemoryLines {
  readonly lines: MemoryLine[] = [];
  readonly bad: BadMemoryLine[] = [];
  readonly #supported = new Set<string | null>();
  readonly #unsupported = new Set<string | null>();

  add(line: number, json: JsonObject | null): void {
    if (json === null) {
      this.bad.push({ line, code: "bad_json", reason: "The skills-memory comment is not valid JSON." });
      return;
    }
    const { snapshot, snapshot_sha256: sha256, format } = json;
    if (typeof snapshot !== "string" || typeof sha256 !== "string" || typeof format !== "string") {
      const reason = "The skills-memory comment must have the strings snapshot, snapshot_sha256 and format.";
      this.bad.push({ line, code: "bad_shape", reason });
      return;
    }
    const scope = readScope(json);
    if (scope === undefined) {
      this.bad.push({ line, code: "bad_scope", reason: BAD_SCOPE });
      return;
    }
    const supported = format === SUPPORTED_MEMORY_FORMAT;
    const seen = supported ? this.#supported : this.#unsupported;
    if (seen.has(scope)) return;
    seen.add(scope);
    this.lines.push({ line, scope, snapshot, sha256, format, supported });
  }
}
