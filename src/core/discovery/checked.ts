import type { SkillId } from "../skill.ts";
import type { Rejection, RejectionCode, RejectionSubject } from "./release.ts";

/** A value that passed its checks, or why it did not. */
export type Checked<T> = { readonly ok: true; readonly value: T } | Refused;

export interface Refused {
  readonly ok: false;
  readonly code: RejectionCode;
  /** One English sentence that names the field and the limit. */
  readonly message: string;
}

export function passed<T>(value: T): Checked<T> {
  return { ok: true, value };
}

export function refused(code: RejectionCode, message: string): Refused {
  return { ok: false, code, message };
}

export function rejection(subject: RejectionSubject, { scope, name }: SkillId, { code, message }: Refused): Rejection {
  return { subject, scope, name, code, message };
}

/** For the files that belong to the origin and to no skill. */
export const WHOLE_ORIGIN: SkillId = { scope: null, name: "" };
