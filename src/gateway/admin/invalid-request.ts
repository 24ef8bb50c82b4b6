import type { z } from "@hono/zod-openapi";
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

function toFieldError(issue: z.core.$ZodIssue): FieldError {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    return { field: clip([...path, issue.keys[0] ?? ""].join(".")), message: "is not known here" };
  }
  return { field: clip(path.join(".")), message: issue.message };
}

function sentence({ field, message }: FieldError): string {
  return `${field === "" ? "The body" : field} ${message.replace(/\.$/, "")}.`;
}

function clip(text: string): string {
  return text.length <= MAX_FIELD_CHARS ? text : `${text.slice(0, MAX_FIELD_CHARS)}…`;
}
