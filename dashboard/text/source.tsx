import { useMemo, useState } from "preact/hooks";
import { javascriptPieces, linesOfPieces, type Piece } from "./javascript.ts";
import { visibleParts } from "./visible.tsx";

/** So many lines at a time: a script may have a hundred thousand. */
const LINES_SHOWN = 1_000;
/** So much of one line: a minified script may be a single one of a megabyte. */
const LINE_CHARS = 5_000;
/** Longer than any indentation. */
const LONG_BLANKS = /[ \t]{41,}/g;
/** Longer scripts are shown without colours. */
const COLOURED_CHARS = 1_048_576;

export type Language = "javascript" | "text";

/** A file line by line, with its numbers; in colours where it is JavaScript. */
export function Source({
  text,
  label,
  language,
}: {
  readonly text: string;
  readonly label: string;
  readonly language: Language;
}) {
  const lines = useMemo(() => linesOfText(text, language), [text, language]);
  const [shown, show] = useState(LINES_SHOWN);
  const rest = lines.length - shown;
  return (
    <div>
      <pre class="source" tabIndex={0} role="region" aria-label={label}>
        <code>
          {lines.slice(0, shown).map((line, index) => (
            <span key={index} class="line">
              <Line pieces={line} />
              {"\n"}
            </span>
          ))}
        </code>
      </pre>
      {rest > 0 && (
        <button type="button" class="button small" onClick={() => show(shown + LINES_SHOWN)}>
          Show more: {rest.toLocaleString("en-GB")} lines are left
        </button>
      )}
    </div>
  );
}

export function linesOfText(text: string, language: Language): readonly (readonly Piece[])[] {
  const pieces: readonly Piece[] =
    language === "javascript" && text.length <= COLOURED_CHARS ? javascriptPieces(text) : [{ kind: "plain", text }];
  return linesOfPieces(pieces);
}

export function Line({ pieces }: { readonly pieces: readonly Piece[] }) {
  const [isWhole, setWhole] = useState(false);
  let room = isWhole ? Number.POSITIVE_INFINITY : LINE_CHARS;
  const shown = [];
  let left = 0;
  for (const { kind, text } of pieces) {
    const parts = [];
    for (const { blanks, words } of stretches(text)) {
      const part = words.slice(0, room);
      if (room > 0 && blanks > 0) parts.push(<Blanks count={blanks} />);
      if (part !== "") parts.push(visibleParts(part));
      left += words.length - part.length + (room > 0 ? 0 : blanks);
      room -= part.length;
    }
    if (parts.length > 0) shown.push(kind === "plain" ? parts : <span class={kind}>{parts}</span>);
  }
  return (
    <>
      {left > 0 && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show {left.toLocaleString("en-GB")} more characters of this line
        </button>
      )}
      {shown}
    </>
  );
}

/** A text at its long runs of blanks: how many stand before what. */
export function stretches(text: string): readonly { readonly blanks: number; readonly words: string }[] {
  const found = [];
  let from = 0;
  let blanks = 0;
  for (const { index, 0: run } of text.matchAll(LONG_BLANKS)) {
    if (index > from) found.push({ blanks, words: text.slice(from, index) });
    blanks = run.length;
    from = index + run.length;
  }
  found.push({ blanks, words: text.slice(from) });
  return found;
}

/** Blanks could push what follows out of sight. */
function Blanks({ count }: { readonly count: number }) {
  return <span class="hidden-character">{count.toLocaleString("en-GB")} blanks</span>;
}
