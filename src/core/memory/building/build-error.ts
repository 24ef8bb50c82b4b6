import { CodedError } from "../../coded-error.ts";

export type BuildErrorCode =
  | "bad_front_matter"
  | "duplicate_concept"
  | "too_large"
  | "nothing_to_search"
  | "bad_snapshot";

/** Markdown that gives no snapshot; `message` is an English sentence that names the file and the field or the limit. */
export class BuildError extends CodedError<BuildErrorCode> {
  override readonly name = "BuildError";
}
