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
  return { field: clip(path.join(".")) || WHOLE, message: messageOf(issue) };
}

/** In place of a path: all of what was given. */
const WHOLE = "body";

/** What zod says by itself, where a schema says nothing: it is worded like our own sentences. */
const UNWORDED = /^(?:Invalid|Too (?:small|big))\b/;
const ARTICLES: Readonly<Record<string, string>> = {
  array: "a list",
  object: "a JSON object",
  record: "a JSON object",
  int: "a whole number",
  boolean: "true or false",
};

function messageOf(issue: z.core.$ZodIssue): string {
  if (!UNWORDED.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      return `must be ${ARTICLES[issue.expected] ?? `a ${issue.expected}`}`;
    case "invalid_value":
      return `must be ${issue.values.map(String).join(" or ")}`;
    case "invalid_format":
      return issue.pattern === undefined ? `must be a ${issue.format}` : `must match ${issue.pattern}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    case "too_small":
      return `must be at least ${issue.minimum}`;
    default:
      return "is not valid";
  }
}

function sentence({ field, message }: FieldError): string {
  return `${field === WHOLE ? "The body" : field} ${message.replace(/\.$/, "")}.`;
}

function clip(text: string): string {
  return text.length <= MAX_FIELD_CHARS ? text : `${text.slice(0, MAX_FIELD_CHARS)}…`;
}
