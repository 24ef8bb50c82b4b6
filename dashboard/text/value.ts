/** A value as JSON on several lines. What is nested too deep for that stands in the message as it was sent. */
export function jsonText(value: unknown, indent = 2): string {
  try {
    return JSON.stringify(value, null, indent) ?? "";
  } catch (error) {
    return `It cannot be laid out (${(error as Error).message}): see the message as it was sent.`;
  }
}

/** What should be a text and, coming from somebody else, may be anything: no method of it is called. */
export function textOfValue(value: unknown): string {
  return typeof value === "string" ? value : jsonText(value, 0);
}
