import type { Json } from "../json.ts";
import type { ToolDefinition } from "../skill.ts";

/** Why guest code did not produce a value. Every one is a tool error for the client, never an HTTP error. */
export type GuestErrorCode =
  | "tool_error"
  | "gas_exhausted"
  /** Exhausted its gas too often within a minute: not run at all. */
  | "tool_suspended"
  | "out_of_memory"
  | "stack_overflow"
  | "timeout"
  | "cancelled"
  | "did_not_settle"
  | "result_too_large"
  | "bad_result"
  | "image_too_large"
  | "no_registration"
  | "several_registrations"
  | "name_mismatch"
  | "bad_definition"
  | "crashed";

export interface GuestFailure {
  readonly ok: false;
  readonly code: GuestErrorCode;
  /** English; guest text in it is capped and holds no host path, stack frame or other tenant's data. */
  readonly message: string;
  readonly gasUsed: number;
}

export interface CallSuccess {
  readonly ok: true;
  /** What the handler returned, after JSON; `undefined` becomes `null`. */
  readonly value: Json;
  readonly gasUsed: number;
}

export type CallOutcome = CallSuccess | GuestFailure;

export interface LoadSuccess {
  readonly ok: true;
  readonly definition: ToolDefinition;
  readonly gasUsed: number;
}

export type LoadOutcome = LoadSuccess | GuestFailure;

/** No instance came free in time: the only way the sandbox itself refuses service. Maps to 503 `pool_exhausted`. */
export class PoolExhausted extends Error {
  override readonly name = "PoolExhausted";
  readonly code = "pool_exhausted";
}
