import { CodedError } from "../core/coded-error.ts";

/** Why a command could not do what was asked. */
export type CommandErrorCode =
  | "usage"
  | "bad_origin"
  | "bad_file"
  | "bad_key"
  | "bad_value"
  | "bad_date"
  | "bad_reviewer"
  | "file_exists"
  | "key_exposed"
  | "unknown_skill"
  | "tool_refused"
  | "nothing_served"
  | "origin_unreachable"
  | "discovery_failed"
  | "no_skills"
  | "no_token"
  | "unknown_site"
  | "port_taken"
  | "gateway_unreachable"
  | "gateway_refused";

/** Codes of what the caller wrote wrongly, in an option or in a file that an option names. */
const USAGE: ReadonlySet<CommandErrorCode> = new Set([
  "usage",
  "bad_origin",
  "bad_file",
  "bad_key",
  "bad_value",
  "bad_date",
  "bad_reviewer",
  "file_exists",
  "key_exposed",
  "unknown_skill",
  "no_token",
  "unknown_site",
  "port_taken",
]);

/** What a call could not be made for, told apart for scripts: the tool is refused, or its origin cannot be had. */
const OF_CALLS: ReadonlyMap<CommandErrorCode, 3 | 4> = new Map([
  ["tool_refused", 3],
  ["nothing_served", 3],
  ["origin_unreachable", 4],
]);

/** An expected failure of a command; `message` is one English sentence for the person at the terminal. */
export class CommandError extends CodedError<CommandErrorCode> {
  override readonly name = "CommandError";

  /** 2 where the command line is to be changed; 3 and 4 of `call` alone; 1 where something else is to be done. */
  get exitCode(): 1 | 2 | 3 | 4 {
    return USAGE.has(this.code) ? 2 : (OF_CALLS.get(this.code) ?? 1);
  }
}
