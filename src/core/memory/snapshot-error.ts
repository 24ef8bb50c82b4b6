import { CodedError } from "../coded-error.ts";

/** Why a snapshot cannot be searched. */
export type SnapshotErrorCode =
  | "byte_order_mark"
  | "bad_encoding"
  | "bad_json"
  | "not_an_array"
  | "too_deep"
  | "too_many_values"
  | "too_many_chunks"
  | "bad_chunk"
  | "duplicate_id"
  | "vectors"
  | "index_too_large";

/** An expected failure; `message` is an English sentence that names the field or the limit, fit for a guest to see. */
export class SnapshotError extends CodedError<SnapshotErrorCode> {
  override readonly name = "SnapshotError";
}
