import { useMemo, useState } from "preact/hooks";
import { javascriptPieces, linesOfPieces, type Piece } from "./javascript.ts";
import { visibleParts } from "./visible.tsx";

/** So many lines at a time: a script may have a hundred thousand. */
const LINES_SHOWN = 1_000;
/** So much of one line: a minified script may be a single one of a megabyte. */
const LINE_CHARS = 5_000;
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
    const part = text.slice(0, room);
    room -= part.length;
    left += text.length - part.length;
    if (part !== "") shown.push(kind === "plain" ? visibleParts(part) : <span class={kind}>{visibleParts(part)}</span>);
  }
  return (
    <>
      {shown}
      {left > 0 && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          … {left.toLocaleString("en-GB")} more characters in this line
        </button>
      )}
    </>
  );
}
