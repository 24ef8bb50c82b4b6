import { CodedError } from "./coded-error.ts";

/** Why an address was refused. `bad_url` and `outside_origin` are the two a publisher's path can meet. */
export type OriginErrorCode =
  | "bad_url"
  | "too_long"
  | "bad_character"
  | "not_https"
  | "has_credentials"
  | "has_query"
  | "has_hash"
  | "bad_path"
  | "forbidden_host"
  | "own_host"
  | "outside_origin";

/** An expected refusal of an origin or of a publisher's path; `message` is one English sentence fit for users and guests. */
export class OriginError extends CodedError<OriginErrorCode> {
  override readonly name = "OriginError";
}
