import type { JsonObject } from "../../core/json.ts";
import { findTaggedComment } from "../../core/llmstxt/comment.ts";
import { parseLlmsTxt } from "../../core/llmstxt/parse.ts";
import { Scanner } from "../../core/llmstxt/scanner.ts";
import { blockAround, closedBlocks, placeBehind } from "./markdown-blocks.ts";
import { skillComment } from "./published-skill.ts";

/**
 * An `llms.txt` whose comments are written anew and to which lines are added, while everything else stays as its author
 * wrote it: prose, order, line endings, byte order mark, and the comments in which nothing changed.
 */
export class LlmsTxtLines {
  /** What changed, one phrase each. */
  readonly reasons: string[] = [];
  /** Without the line feed; a carriage return stays at the end. */
  #lines: string[];
  readonly #ending: "" | "\r";

  constructor(text: string) {
    this.#lines = text.split("\n");
    this.#ending = text.includes("\r\n") ? "\r" : "";
  }

  toString(): string {
    return this.#lines.join("\n");
  }

  /** The object of the comment that ends a skill's line, `{}` where there is none. @param line counted from 1. */
  metadata(line: number): JsonObject {
    return this.#comment(line, "skill:")?.json ?? {};
  }

  /** Sets fields of the comment that ends a skill's line, or adds one; other fields stay, and so does their order. */
  setMetadata(line: number, fields: JsonObject, reasons: readonly string[]): void {
    this.#set(line, "skill:", { ...this.metadata(line), ...fields }, reasons);
  }

  setMemoryHash(line: number, sha256: string, reason: string): void {
    const json = this.#comment(line, "skills-memory:")?.json ?? {};
    if (json.snapshot_sha256 !== sha256)
      this.#set(line, "skills-memory:", { ...json, snapshot_sha256: sha256 }, [reason]);
  }

  /** Puts a memory line before the skills, where the standard wants it; lines below move down. */
  insertMemory(comment: string, reason: string): void {
    this.#insertBefore(this.#heading(), [comment, ""]);
    this.reasons.push(reason);
  }

  /**
   * Adds lines behind the last skill and what belongs to it; where they would not be read there, below the heading or in a section of their own,
   * at the end.
   */
  appendSkills(added: readonly string[], reasons: readonly string[]): void {
    if (added.length === 0) return;
    const before = this.#lines;
    const { skills, prose } = parseLlmsTxt(this.toString());
    const last = Math.max(0, ...[...skills, ...prose].map(({ line }) => line));
    const places = [
      ...(last > 0 && this.#shownHeading() !== -1
        ? [() => this.#insertBefore(placeBehind(this.#lines, last - 1), added)]
        : []),
      () => this.#insertBefore(this.#heading() + 1, ["", ...added]),
      () => this.#insertBefore(this.#end(), ["", "## Skills", "", ...added]),
    ];
    for (const insert of places) {
      this.#lines = [...before];
      insert();
      if (parseLlmsTxt(this.toString()).skills.length === skills.length + added.length) break;
    }
    this.reasons.push(...reasons);
  }

  /** Index of the line `## Skills`, which is added at the end where there is none. */
  #heading(): number {
    const found = this.#shownHeading();
    if (found !== -1) return found;
    const text = this.toString().trim();
    this.#insertBefore(this.#end(), text === "" ? ["## Skills"] : ["", "## Skills"]);
    return this.#lines.findLastIndex((line) => line.startsWith("## Skills"));
  }

  /** One in code or a comment opens the section too, for whoever reads line by line; nobody sees it. */
  #shownHeading(): number {
    const blocks = closedBlocks(this.#lines);
    return this.#lines.findIndex(
      (line, index) => /^##\s+skills$/i.test(line.trim()) && blockAround(blocks, index) === undefined,
    );
  }

  /** Where something can be added at the end: before what was opened there and never closed. */
  #end(): number {
    const open = closedBlocks(this.#lines).find(({ isOpen }) => isOpen);
    return open?.begin ?? this.#lines.length;
  }

  #insertBefore(index: number, added: readonly string[]): void {
    const own = added.map((line) => line + this.#ending);
    if (index < this.#lines.length) {
      this.#lines.splice(index, 0, ...own);
      return;
    }
    // Behind the last line, which the text may have left open.
    const last = this.#lines.pop() ?? "";
    this.#lines.push(...(last === "" ? [] : [last.endsWith("\r") ? last : last + this.#ending]), ...own, "");
  }

  #comment(line: number, tag: "skill:" | "skills-memory:") {
    const text = this.#lines[line - 1] ?? "";
    const scanner = new Scanner(text);
    const begin = scanner.skipSpace(0, text.length);
    return findTaggedComment(scanner, tag, begin, scanner.trimEnd(begin, text.length), tag === "skill:");
  }

  #set(line: number, tag: "skill:" | "skills-memory:", json: JsonObject, reasons: readonly string[]): void {
    const text = this.#lines[line - 1] ?? "";
    const end = text.trimEnd().length;
    const start = this.#comment(line, tag)?.start;
    const comment = tag === "skill:" ? skillComment(json) : `<!-- skills-memory: ${JSON.stringify(json)} -->`;
    const before = start === undefined ? `${text.slice(0, end)} ` : text.slice(0, start);
    this.#lines[line - 1] = before + comment + text.slice(end);
    this.reasons.push(...reasons);
  }
}
