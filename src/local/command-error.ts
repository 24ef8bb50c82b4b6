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

/** An expected failure of a command; `message` is one English sentence for the person at the terminal. */
export class CommandError extends CodedError<CommandErrorCode> {
  override readonly name = "CommandError";

  /** 2 where the command line is to be changed, 1 where something else is. */
  get exitCode(): 1 | 2 {
    return USAGE.has(this.code) ? 2 : 1;
  }
}
