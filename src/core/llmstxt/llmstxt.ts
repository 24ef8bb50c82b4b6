/** What an `llms.txt` says about skills, line by line. Nothing in it is verified yet: hashes, paths and names are text. */
export interface LlmsTxt {
  /** Executable lines, in document order, duplicates included. */
  readonly skills: readonly SkillLine[];
  /** Skill lines that cannot be executed, and why. */
  readonly prose: readonly ProseLine[];
  /** Memory lines, in document order: per scope the first of the supported format and the first of any other. */
  readonly memories: readonly MemoryLine[];
  /** Memory comments that cannot be used, and why. */
  readonly badMemories: readonly BadMemoryLine[];
}

export interface SkillLine {
  /** Counted from 1. */
  readonly line: number;
  readonly scope: string | null;
  /** As written between the brackets, not trimmed. */
  readonly name: string;
  readonly description: string;
  /** Path of the artifact; may be empty. */
  readonly tool: string;
  /** The declared hash as written, well-formed or not. */
  readonly toolSha256: string;
  readonly version: string | null;
  /** Link to the recipe; may be empty. */
  readonly recipeUrl: string;
  readonly recipeSha256: string | null;
}

/** `no_metadata` and `no_tool` are ordinary links for people; `bad_metadata` and `bad_scope` are a publisher's mistakes. */
export type ProseCode = "no_metadata" | "bad_metadata" | "bad_scope" | "no_tool";

export interface ProseLine {
  readonly line: number;
  readonly name: string;
  readonly url: string;
  readonly description: string;
  readonly code: ProseCode;
  /** One English sentence. */
  readonly reason: string;
}

export interface MemoryLine {
  readonly line: number;
  readonly scope: string | null;
  readonly snapshot: string;
  /** The declared hash as written. */
  readonly sha256: string;
  readonly format: string;
  /** True for `minimemory-okf-v1`. */
  readonly supported: boolean;
}

export interface BadMemoryLine {
  readonly line: number;
  readonly code: "bad_json" | "bad_scope" | "bad_shape";
  /** One English sentence. */
  readonly reason: string;
}
