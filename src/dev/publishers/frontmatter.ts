/** The YAML frontmatter of a reference publisher's `SKILL.md`. */
export interface RecipeHead {
  readonly name: string;
  readonly description: string;
  readonly version: string;
}

/** A recipe whose frontmatter does not say what a publisher must say. */
export class FrontmatterError extends Error {
  override readonly name = "FrontmatterError";
}

const MAX_DESCRIPTION = 1024;

/**
 * Reads the frontmatter of our own recipes: `key: value` lines, values plain or in double quotes (JSON), one nested level.
 * It is the subset of YAML that the reference publishers use, and refuses everything else.
 */
export function readRecipeHead(text: string): RecipeHead {
  const block = /^---\n([\s\S]*?)\n---\n/.exec(text)?.[1];
  if (block === undefined) throw new FrontmatterError("SKILL.md must start with frontmatter between two lines of ---.");
  const values = new Map<string, string>();
  let parent = "";
  for (const line of block.split("\n")) {
    const match = /^( {2})?([a-z][a-z0-9_-]*):(?: (.+))?$/.exec(line);
    const key = match?.[2];
    if (key === undefined) throw new FrontmatterError(`The frontmatter line "${line}" is not "key: value".`);
    if (match?.[1] === undefined) parent = key;
    const value = match?.[3];
    if (value !== undefined) values.set(match?.[1] === undefined ? key : `${parent}.${key}`, unquote(value));
  }
  const description = required(values, "description");
  if (description.length > MAX_DESCRIPTION) {
    throw new FrontmatterError(`description has more than ${MAX_DESCRIPTION} characters.`);
  }
  return { name: required(values, "name"), description, version: required(values, "metadata.version") };
}

function required(values: ReadonlyMap<string, string>, key: string): string {
  const value = values.get(key);
  if (value === undefined || value === "") throw new FrontmatterError(`The frontmatter lacks "${key}".`);
  return value;
}

function unquote(value: string): string {
  if (value.startsWith('"')) {
    try {
      return JSON.parse(value) as string;
    } catch {
      throw new FrontmatterError(`The frontmatter value ${value} is not a double-quoted string.`);
    }
  }
  // A plain YAML value must not hold what YAML would read as something else.
  if (/: |\s#|^[!&*[{|>%@`'"-]/.test(value))
    throw new FrontmatterError(`Put the frontmatter value ${value} in double quotes.`);
  return value;
}
