import { parseDocument } from "yaml";
import { isJsonObject } from "../../json.ts";
import { BuildError } from "./build-error.ts";

export type FrontMatter = Readonly<Record<string, unknown>>;

/** YAML's aliases can name one node many times; a document's head has use for none. */
const NO_ALIASES = 0;

/**
 * Parts a document into its YAML front matter, `{}` where there is none, and its body. Front matter stands at the very
 * beginning between two lines of `---`; a `---` without a second one is a rule of the text.
 *
 * @param file for messages.
 * @throws {BuildError} `bad_front_matter`
 */
export function readFrontMatter(text: string, file: string): { readonly fields: FrontMatter; readonly body: string } {
  const match = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/.exec(text);
  if (match === null) return { fields: {}, body: text };
  const document = parseDocument(match[1] ?? "", { logLevel: "silent" });
  const refuse = (reason: string) => new BuildError("bad_front_matter", `The front matter of ${file} ${reason}.`);
  const [error] = document.errors;
  if (error !== undefined) throw refuse(`is not YAML: ${error.message.split("\n", 1)[0]?.replace(/[.:]$/, "")}`);
  let fields: unknown;
  try {
    fields = document.toJS({ maxAliasCount: NO_ALIASES });
  } catch {
    throw refuse("uses YAML aliases");
  }
  if (fields !== null && !isJsonObject(fields)) throw refuse("must be a mapping of names to values");
  return { fields: fields ?? {}, body: text.slice(match[0].length) };
}
