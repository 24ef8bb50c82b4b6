import type { core } from "zod";

/** What a zod schema finds wrong with a value. */
export type Issue = core.$ZodIssue;

/** Which member it is about, as a path with dots, empty for the whole, and what that must be. Values are never repeated. */
export function wordIssue(issue: Issue): { readonly field: string; readonly message: string } {
  const path = issue.path.map(String);
  if (issue.code !== "unrecognized_keys") return { field: path.join("."), message: messageOf(issue) };
  return { field: [...path, issue.keys[0] ?? ""].join("."), message: "is not known here" };
}

/** What zod says by itself, where a schema says nothing: it is worded like our own sentences. */
const UNWORDED = /^(?:Invalid|Too (?:small|big))\b/;
const ARTICLES: Readonly<Record<string, string>> = {
  array: "a list",
  object: "a JSON object",
  record: "a JSON object",
  int: "a whole number",
  boolean: "true or false",
};

function messageOf(issue: Issue): string {
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
