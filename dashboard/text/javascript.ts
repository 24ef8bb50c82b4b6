/** What a piece of JavaScript is, for its colour. */
export type PieceKind = "plain" | "comment" | "string" | "regex" | "number" | "keyword" | "capability";

export interface Piece {
  readonly kind: PieceKind;
  readonly text: string;
}

const KEYWORDS = new Set(
  "async await break case catch class const continue debugger default delete do else export extends false finally for function get if import in instanceof let new null of return set static super switch this throw true try typeof undefined var void while with yield".split(
    " ",
  ),
);
/** The two names by which a skill reaches out of its sandbox. */
const CAPABILITIES = new Set(["host", "registerTool"]);
/** After these words a slash begins a regular expression. */
const BEFORE_EXPRESSION = new Set(
  "return typeof case in of delete void throw new else do await yield instanceof".split(" "),
);

const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d+)?|\.\d[\d_]*)n?/y;
const SPACE = /\s+/y;

/**
 * Splits a script into coloured pieces. It is not a parser: it looks at every character once, whatever a publisher wrote, and where a
 * slash may begin a regular expression or divide it guesses from what stands before. The text of all pieces together is the script.
 */
export function javascriptPieces(source: string): readonly Piece[] {
  const pieces: Piece[] = [];
  /** Braces open inside each `${…}` that is open. */
  const templates: number[] = [];
  let at = 0;
  let plainFrom = 0;
  let expectsExpression = true;

  const take = (kind: PieceKind, end: number) => {
    if (at > plainFrom) pieces.push({ kind: "plain", text: source.slice(plainFrom, at) });
    pieces.push({ kind, text: source.slice(at, end) });
    at = end;
    plainFrom = end;
  };
  const match = (pattern: RegExp): number => {
    pattern.lastIndex = at;
    return pattern.test(source) ? pattern.lastIndex : -1;
  };
  const takeTemplate = (from: number) => {
    const end = endOfTemplate(source, from);
    if (source.startsWith("${", end - 2) && end >= from + 2) templates.push(0);
    take("string", end);
    expectsExpression = templates.length > 0 && source.startsWith("${", end - 2);
  };

  while (at < source.length) {
    const character = source[at] as string;
    const space = match(SPACE);
    if (space !== -1) {
      at = space;
    } else if (source.startsWith("//", at)) {
      take("comment", endOfLine(source, at));
    } else if (source.startsWith("/*", at)) {
      const end = source.indexOf("*/", at + 2);
      take("comment", end === -1 ? source.length : end + 2);
    } else if (character === '"' || character === "'") {
      take("string", endOfString(source, at + 1, character));
      expectsExpression = false;
    } else if (character === "`") {
      takeTemplate(at + 1);
    } else if (character === "}" && templates.at(-1) === 0) {
      templates.pop();
      takeTemplate(at + 1);
    } else if (character === "/" && expectsExpression) {
      take("regex", endOfRegex(source, at + 1));
      expectsExpression = false;
    } else {
      const word = match(WORD);
      const digits = word === -1 ? match(NUMBER) : -1;
      if (word !== -1) {
        const text = source.slice(at, word);
        expectsExpression = BEFORE_EXPRESSION.has(text);
        if (KEYWORDS.has(text)) take("keyword", word);
        else if (CAPABILITIES.has(text)) take("capability", word);
        else at = word;
      } else if (digits !== -1) {
        take("number", digits);
        expectsExpression = false;
      } else {
        const depth = templates.length - 1;
        if (character === "{" && depth >= 0) templates[depth] = (templates[depth] ?? 0) + 1;
        if (character === "}" && depth >= 0) templates[depth] = (templates[depth] ?? 0) - 1;
        expectsExpression = character !== ")" && character !== "]" && character !== "}";
        at += 1;
      }
    }
  }
  if (at > plainFrom) pieces.push({ kind: "plain", text: source.slice(plainFrom) });
  return pieces;
}

function endOfLine(source: string, from: number): number {
  const end = source.indexOf("\n", from);
  return end === -1 ? source.length : end;
}

function endOfString(source: string, from: number, quote: string): number {
  for (let at = from; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") at++;
    else if (character === quote) return at + 1;
    else if (character === "\n") return at;
  }
  return source.length;
}

function endOfRegex(source: string, from: number): number {
  let isClass = false;
  for (let at = from; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") at++;
    else if (character === "\n") return at;
    else if (character === "[") isClass = true;
    else if (character === "]") isClass = false;
    else if (character === "/" && !isClass) {
      while (/[a-z]/.test(source[at + 1] ?? "")) at++;
      return at + 1;
    }
  }
  return source.length;
}

/** After the closing backtick, or after the next `${`. */
function endOfTemplate(source: string, from: number): number {
  for (let at = from; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") at++;
    else if (character === "`") return at + 1;
    else if (character === "$" && source[at + 1] === "{") return at + 2;
  }
  return source.length;
}

/** Pieces by line; a piece that spans lines is cut at each. */
export function linesOfPieces(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  const lines: Piece[][] = [[]];
  for (const { kind, text } of pieces) {
    text.split("\n").forEach((part, index) => {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ kind, text: part });
    });
  }
  return lines;
}
