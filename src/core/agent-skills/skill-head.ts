/** A field of a `SKILL.md`'s frontmatter: `unread` where telling it would take a whole reader of YAML, null where it is missing. */
type Field = { readonly text: string } | "unread" | null;

/** The two fields that clients compare. */
export interface SkillHead {
  readonly name: Field;
  readonly description: Field;
}

/**
 * Reads name and description out of a `SKILL.md`'s frontmatter as far as they stand on one line each, plain or quoted, as nearly all do; what
 * is written otherwise is `unread`. A reader of all of YAML would be a thirtieth of the Worker, and this only warns: `skillgate lint` has one.
 *
 * @returns null where there is no frontmatter.
 */
export function readSkillHead(text: string): SkillHead | null {
  const match = /^---[ \t]*\r?\n((?:[\s\S]*?\r?\n)?)---[ \t]*(?:\r?\n|$)/.exec(text);
  if (match === null) return null;
  const lines = (match[1] ?? "").split(/\r?\n/);
  return { name: fieldOf(lines, "name"), description: fieldOf(lines, "description") };
}

function fieldOf(lines: readonly string[], key: string): Field {
  const index = lines.findIndex((line) => line.startsWith(`${key}:`));
  if (index === -1) return lines.some((line) => /^["'{?]/.test(line)) ? "unread" : null;
  const written = lines[index]?.slice(key.length + 1) ?? "";
  // An indented line goes on with the value.
  if (/^[ \t]+\S/.test(lines[index + 1] ?? "") || (written !== "" && !/^[ \t]/.test(written))) return "unread";
  return scalar(written.trim());
}

function scalar(written: string): Field {
  if (written === "") return null;
  const quoted = /^"([^"\\]*)"$/.exec(written)?.[1] ?? /^'([^']*)'$/.exec(written)?.[1];
  if (quoted !== undefined) return quoted.trim() === "" ? null : { text: quoted };
  return /^[!&*>|"'%@`[{#,?-]|: |\s#/.test(written) ? "unread" : { text: written };
}
