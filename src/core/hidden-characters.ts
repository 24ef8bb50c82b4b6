/** Kinds of character told of one text. */
export const MAX_HIDDEN_KINDS = 100;

/** A character that a reader of a text does not see, or that changes what the reader sees. */
export interface HiddenCharacter {
  /** `U+202E` */
  readonly codePoint: string;
  readonly count: number;
  /** Of the first one, counted from 1; only a line feed ends a line. */
  readonly line: number;
}

/**
 * Controls (a carriage return among them), format characters such as marks that reorder text, line and paragraph separators, which end a
 * comment, spaces other than the plain one, and whatever else shows nothing: all but tab, line feed and space.
 */
export const HIDDEN = /(?![\t\n ])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** The hidden characters of a text by kind, first seen first: at most 100 kinds. */
export function hiddenCharacters(text: string): readonly HiddenCharacter[] {
  const found = new Map<string, { count: number; line: number }>();
  let line = 1;
  let at = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const known = found.get(match[0]);
    if (known !== undefined) known.count += 1;
    if (known !== undefined || found.size >= MAX_HIDDEN_KINDS) continue;
    for (let next = text.indexOf("\n", at); next !== -1 && next < match.index; next = text.indexOf("\n", at)) {
      line += 1;
      at = next + 1;
    }
    found.set(match[0], { count: 1, line });
  }
  return [...found].map(([character, facts]) => ({ codePoint: codePointOf(character), ...facts }));
}

/** `U+202E` */
export function codePointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
