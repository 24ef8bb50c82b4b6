import { useState } from "preact/hooks";
import { codePointOf, HIDDEN } from "../../src/core/hidden-characters.ts";

/** A publisher's text may be a megabyte: so much of it is shown until somebody asks for more. */
const SHOWN_CHARS = 1_000;
const MORE_CHARS = 50_000;

/** Somebody else's text as text: what hides or reorders is shown by its code point, and no direction leaks out of it. */
export function Visible({ text, most = SHOWN_CHARS }: { readonly text: string; readonly most?: number }) {
  const [shown, show] = useState(most);
  const isCut = text.length > shown;
  return (
    <bdi>
      {visibleParts(isCut ? beginning(text, shown) : text)}
      {isCut && (
        <button type="button" class="more" onClick={() => show(shown + MORE_CHARS)}>
          … show more of {text.length.toLocaleString("en-GB")} characters
        </button>
      )}
    </bdi>
  );
}

/** The first characters of a text, none of them halved. */
export function beginning(text: string, length: number): string {
  const isHalved = length > 0 && length < text.length && /[\ud800-\udbff]/.test(text[length - 1] ?? "");
  return text.slice(0, isHalved ? length - 1 : length);
}

/** The text where only text can stand, each hidden character as its code point in brackets. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, (mark) => `[${codePointOf(mark)}]`);
}

/** The text in pieces, each hidden character as a mark of its own. */
export function visibleParts(text: string) {
  const marks = [...text.matchAll(HIDDEN)];
  if (marks.length === 0) return text;
  const parts = [];
  let from = 0;
  for (const mark of marks) {
    if (mark.index > from) parts.push(text.slice(from, mark.index));
    parts.push(
      <span class="hidden-character" title="A character that nobody sees">
        {codePointOf(mark[0])}
      </span>,
    );
    from = mark.index + mark[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}
