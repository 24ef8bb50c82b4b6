import type { Rejection, RejectionCode } from "./release.ts";

/** `discovery_failed`: there is no usable `llms.txt`. `no_skills`: there is one, and no line of it can be executed. */
export type DiscoveryErrorCode = "discovery_failed" | "no_skills";

export type DiscoveryFailureReason =
  | Extract<
      RejectionCode,
      | "fetch_failed"
      | "timeout"
      | "http_status"
      | "redirect_outside_origin"
      | "too_many_redirects"
      | "too_large"
      | "length_mismatch"
      | "bad_shape"
    >
  | "cancelled"
  | "no_executable_lines";

/** An origin that gives no release at all. A skill that fails is a `Rejection` in the release instead. */
export class DiscoveryError extends Error {
  override readonly name = "DiscoveryError";
  readonly code: DiscoveryErrorCode;
  readonly reason: DiscoveryFailureReason;
  /** What the publisher got wrong in lines that might have been meant to be executable. */
  readonly rejected: readonly Rejection[];

  constructor(
    code: DiscoveryErrorCode,
    reason: DiscoveryFailureReason,
    message: string,
    rejected: readonly Rejection[] = [],
  ) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.rejected = rejected;
  }
}
