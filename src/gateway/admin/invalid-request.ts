import type { z } from "@hono/zod-openapi";
import { type Issue, wordIssue } from "../../core/schema-issue.ts";
import type { AdminContext } from "./environment.ts";
import { type FieldError, problemResponse } from "./problem.ts";

const MAX_ERRORS = 10;
const MAX_FIELD_CHARS = 100;

type Checked =
  | { readonly success: true; readonly target: string }
  | { readonly success: false; readonly target: string; readonly error: z.ZodError };

/**
 * What a request that fails its schema is told: 400 `bad_request` with every wrong member and what it may be, or 404 where
 * the id in the path cannot be one of ours. Values are never repeated.
 */
export function invalidRequest(result: Checked, c: AdminContext): Response | undefined {
  if (result.success) return undefined;
  if (result.target === "param") return problemResponse(c, "not_found");
  const errors = result.error.issues.slice(0, MAX_ERRORS).map(toFieldError);
  const [first] = errors;
  const detail = first === undefined ? undefined : sentence(first);
  return problemResponse(c, "bad_request", { errors, ...(detail === undefined ? {} : { detail }) });
}

function toFieldError(issue: Issue): FieldError {
  const { field, message } = wordIssue(issue);
  return { field: clip(field) || WHOLE, message };
}

/** In place of a path: all of what was given. */
const WHOLE = "body";

function sentence({ field, message }: FieldError): string {
  return `${field === WHOLE ? "The body" : field} ${message.replace(/\.$/, "")}.`;
}

function clip(text: string): string {
  return text.length <= MAX_FIELD_CHARS ? text : `${text.slice(0, MAX_FIELD_CHARS)}…`;
}
