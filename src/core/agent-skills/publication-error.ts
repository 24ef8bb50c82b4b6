import { CodedError } from "../coded-error.ts";

/**
 * Why a publication is refused.
 *
 * - `bad_name`, `bad_description`, `bad_scope`, `bad_limit` a member of an entry
 * - `bad_url`, `reserved_url` where an artifact would lie
 * - `duplicate_name`, `duplicate_url` two entries that clients could not tell apart
 * - `missing_digest`, `unknown_digest` the bytes are not named, or were not uploaded
 * - `too_large`, `too_many` a bound of {@link PUBLICATION_LIMITS}
 * - `bad_encoding`, `bad_archive` the bytes of an artifact
 * - `fetch_failed`, `digest_differs` an artifact on another host
 */
export type PublicationErrorCode =
  | "bad_name"
  | "bad_description"
  | "bad_scope"
  | "bad_limit"
  | "bad_url"
  | "reserved_url"
  | "duplicate_name"
  | "duplicate_url"
  | "missing_digest"
  | "unknown_digest"
  | "too_large"
  | "too_many"
  | "bad_encoding"
  | "bad_archive"
  | "fetch_failed"
  | "digest_differs";

/** An expected refusal of what somebody wants to publish. */
export class PublicationError extends CodedError<PublicationErrorCode> {
  override readonly name = "PublicationError";
  /** Path of the member, dots between the parts: `listings.0.skills.3.url`. */
  readonly field: string;
  /** What is wrong with it, to follow the field: `must be …`. */
  readonly problem: string;

  constructor(code: PublicationErrorCode, field: string, problem: string, options?: ErrorOptions) {
    super(code, `${field} ${problem}.`, options);
    this.field = field;
    this.problem = problem;
  }
}
