export type BuildErrorCode =
  | "bad_front_matter"
  | "duplicate_concept"
  | "too_large"
  | "nothing_to_search"
  | "bad_snapshot";

/** Markdown that gives no snapshot; `message` is an English sentence that names the file and the field or the limit. */
export class BuildError extends Error {
  override readonly name = "BuildError";
  readonly code: BuildErrorCode;

  constructor(code: BuildErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
