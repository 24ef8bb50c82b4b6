import { CodedError } from "../core/coded-error.ts";
import type { ToolFailureCode } from "../core/serve-call.ts";

export type ToolHostErrorCode =
  // the host's own life
  | "not_initialised"
  | "already_initialised"
  | "disposed"
  // what it was given
  | "bad_option"
  | "bad_memory"
  | "no_engine"
  /** This platform has nothing that could do it. */
  | "unsupported"
  // a source that cannot be loaded, besides what the sandbox says of it
  | "bad_source"
  | "bad_name"
  | "bad_schema"
  | "duplicate_tool"
  // a call
  | "unknown_tool"
  | "pool_exhausted"
  /** Of a source that does not load, or of a call that gave no value. */
  | ToolFailureCode;

/** Why a host did not do what it was asked. `message` is one English sentence, without a path of the machine or a stack of the guest. */
export class ToolHostError extends CodedError<ToolHostErrorCode> {
  override readonly name = "ToolHostError";
}

/**
 * The one error of an embedder's capability whose message the tool gets to read; of any other it learns only that the capability failed.
 *
 * @example throw new CapabilityError("There is no payment with this id.");
 */
export class CapabilityError extends Error {
  override readonly name = "CapabilityError";
}
