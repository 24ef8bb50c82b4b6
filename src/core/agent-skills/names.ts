import { HIDDEN } from "../hidden-characters.ts";

export const MAX_SKILL_NAME_CHARS = 64;
export const MAX_DESCRIPTION_CHARS = 1_024;

/** Agent Skills: 1 to 64 lower-case letters, digits and hyphens, none of these at an end or beside another. Also sites and listings. */
export function isSkillName(name: string): boolean {
  return name.length <= MAX_SKILL_NAME_CHARS && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name);
}

/** What a script may register; publishers of executable skills use underscores. */
export function isToolName(name: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(name);
}

/** Executable Skills v0.5 §2.5. */
export function isScope(scope: string): boolean {
  return scope.length <= MAX_SKILL_NAME_CHARS && /^[a-z][a-z0-9_-]*$/.test(scope);
}

/** One line of text that people and models read. */
export function isDescription(text: string): boolean {
  return isLine(text, MAX_DESCRIPTION_CHARS) && text.trim() !== "";
}

/** A line without anything that hides or reorders text; it may be empty. */
export function isLine(text: string, maxChars: number): boolean {
  return text.length <= maxChars && !/[\t\n]/.test(text) && text.search(HIDDEN) === -1;
}
