import { parseDocument } from "yaml";
import { isJsonObject } from "./json.ts";

export type FrontMatter = Readonly<Record<string, unknown>>;

/** YAML's aliases can name one node many times; a document's head has use for none. */
const NO_ALIASES = 0;

export type FrontMatterReading =
  | { readonly state: "absent"; readonly body: string }
  | { readonly state: "read"; readonly fields: FrontMatter; readonly body: string }
  /** `problem` goes on a sentence that begins with the front matter: "is not YAML: …". */
  | { readonly state: "bad"; readonly problem: string };

/**
 * Parts a document into its YAML front matter and its body. Front matter stands at the very beginning between two lines of `---`; a
 * `---` without a second one is a rule of the text.
 */
export function readFrontMatter(text: string): FrontMatterReading {
  const match = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/.exec(text);
  if (match === null) return { state: "absent", body: text };
  const document = parseDocument(match[1] ?? "", { logLevel: "silent" });
  const [error] = document.errors;
  if (error !== undefined) {
    return { state: "bad", problem: `is not YAML: ${error.message.split("\n", 1)[0]?.replace(/[.:]$/, "")}` };
  }
  let fields: unknown;
  try {
    fields = document.toJS({ maxAliasCount: NO_ALIASES });
  } catch {
    return { state: "bad", problem: "uses YAML aliases" };
  }
  if (fields !== null && !isJsonObject(fields)) {
    return { state: "bad", problem: "must be a mapping of names to values" };
  }
  return { state: "read", fields: fields ?? {}, body: text.slice(match[0].length) };
}
