import type { SkillId } from "../skill.ts";
import type { Contradiction, FailedFetch, Rejection, RejectionCode, RejectionSubject } from "./release.ts";

/** A value that passed its checks, or why it did not. */
export type Checked<T> = { readonly ok: true; readonly value: T } | Refused;

export interface Refused {
  readonly ok: false;
  readonly code: RejectionCode;
  /** One English sentence that names the field and the limit. */
  readonly message: string;
  readonly fetch?: FailedFetch;
  readonly contradiction?: Contradiction;
}

export function passed<T>(value: T): Checked<T> {
  return { ok: true, value };
}

export function refused(code: RejectionCode, message: string): Refused {
  return { ok: false, code, message };
}

export function rejection(
  subject: RejectionSubject,
  { scope, name }: SkillId,
  { code, message, fetch, contradiction }: Refused,
): Rejection {
  return {
    ...{ subject, scope, name, code, message },
    ...(fetch === undefined ? {} : { fetch }),
    ...(contradiction === undefined ? {} : { contradiction }),
  };
}

/** Whether it says nothing about the file: the origin did not answer to the end, or is out of order. */
export function isOutage({ code, fetch }: Pick<Rejection, "code" | "fetch">): boolean {
  if (code === "timeout" || code === "fetch_failed" || code === "length_mismatch") return true;
  const status = fetch?.status ?? null;
  return code === "http_status" && status !== null && (status >= 500 || status === 429 || status === 408);
}

/** Most rejections, and most links for people, that a release reports: one `llms.txt` can hold tens of thousands. */
export const MAX_REPORTED = 1_000;

/** The first `MAX_REPORTED` rejections, the last of them saying how many more there are. */
export function firstRejections(rejected: readonly Rejection[]): readonly Rejection[] {
  if (rejected.length <= MAX_REPORTED) return rejected;
  const shown = rejected.slice(0, MAX_REPORTED - 1);
  const message = `There are ${rejected.length - shown.length} more rejections than the ${shown.length} before this one, which are all that is kept.`;
  return [...shown, rejection("skill", WHOLE_ORIGIN, refused("too_many_rejections", message))];
}

/** For the files that belong to the origin and to no skill. */
export const WHOLE_ORIGIN: SkillId = { scope: null, name: "" };
