import type { GuestErrorCode } from "./outcome.ts";

// Strings and small numbers are all that crosses the border. Both sides read the codes from here: the prelude gets them
// as literals when its text is made.

/** What the host asks of the guest's dispatch function. `call + capabilities` starts a call. */
export const DISPATCH = { define: 1, explain: 2, program: 3, call: 16 } as const;

/** What the guest asks of the one host function. */
export const ASK = {
  fetchOrigin: 1,
  memorySearch: 2,
  settle: 3,
  seed: 4,
  jobsPending: 5,
  memoryTight: 6,
  action: 7,
} as const;

/** Bits of the capabilities that a call has. */
export const CAPABILITY = { fetchOrigin: 1, memorySearch: 2, actions: 4 } as const;

/** First character of an answer: a value, in JSON, follows; otherwise a failure, whose message in JSON follows. */
export const VALUE = "v";

export const FAILURES = {
  t: "tool_error",
  m: "out_of_memory",
  s: "stack_overflow",
  b: "bad_result",
  l: "result_too_large",
  z: "no_registration",
  r: "several_registrations",
  n: "name_mismatch",
  d: "bad_definition",
} as const satisfies Record<string, GuestErrorCode>;

export type FailureLetter = keyof typeof FAILURES;

export function isFailureLetter(letter: string): letter is FailureLetter {
  return Object.hasOwn(FAILURES, letter);
}
