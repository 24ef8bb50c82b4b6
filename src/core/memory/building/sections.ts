import { lexer, type Token, type Tokens } from "marked";

/** What lies under one heading, up to the next. */
export interface Section {
  /** Plain text; `null` before the first heading. */
  readonly heading: string | null;
  /** The heading's line as it was written. */
  readonly headingSource: string;
  readonly depth: number;
  readonly blocks: readonly Block[];
}

/** A part of a document that a reader takes in as one: a paragraph, a list, a table, a code block, a quote. Markdown as written. */
export interface Block {
  /** `whole` is never parted, however long it is. */
  readonly kind: "text" | "list" | "table" | "whole";
  readonly source: string;
  /** Of a list its items, of a table its rows; else empty. */
  readonly parts: readonly string[];
  /** Of a table the lines that every part of it must begin with. */
  readonly head: string;
}

/** Headings of this depth and above begin a section; deeper ones stay where they are. */
const DEEPEST_SECTION = 3;

/**
 * Parts Markdown (CommonMark and tables) into sections. What only looks like a heading, inside a code fence, a quote or a
 * comment, is none. Comments, link definitions and rules, of which a reader sees nothing, are left out.
 *
 * @param body with line breaks `\n`.
 */
export function readSections(body: string): readonly Section[] {
  const sections: (Section & { blocks: Block[] })[] = [{ heading: null, headingSource: "", depth: 0, blocks: [] }];
  for (const token of lexer(body) as readonly Token[]) {
    if (token.type === "heading" && token.depth <= DEEPEST_SECTION) {
      const { depth, raw, tokens = [] } = token as Tokens.Heading;
      sections.push({ heading: plainText(tokens), headingSource: raw.trim(), depth, blocks: [] });
    } else {
      const block = toBlock(token);
      if (block !== null) sections.at(-1)?.blocks.push(block);
    }
  }
  return sections;
}

function toBlock(token: Token): Block | null {
  const source = token.raw.replace(/^\n+/, "").trimEnd();
  const block = { source, parts: [], head: "" };
  switch (token.type) {
    case "space":
    case "def":
    case "hr":
      return null;
    case "html": {
      const visible = source.replace(/<!--[\s\S]*?(?:-->|$)/g, "").trim();
      return visible === "" ? null : { ...block, kind: "whole", source: visible };
    }
    case "list": {
      const { items } = token as Tokens.List;
      // An item that holds code or a quote may be long: the list is parted around it.
      return { ...block, kind: "list", parts: items.map(({ raw }) => raw.trimEnd()) };
    }
    case "table": {
      // What aligns columns in an editor is no content.
      const lines = source.split("\n").map((line) => line.replace(/ +\|/g, " |").replace(/\| +/g, "| "));
      const [names = "", dashes = "", ...rows] = lines;
      const head = `${names}\n${dashes.replace(/-{3,}/g, "---")}\n`;
      return { kind: "table", source: head + rows.join("\n"), parts: rows, head };
    }
    case "paragraph":
    case "text":
      return { ...block, kind: "text" };
    default:
      return { ...block, kind: "whole" };
  }
}

/** A heading as it is read: without emphasis marks, with the text of its links and code. */
function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if ("tokens" in token && token.tokens !== undefined && token.tokens.length > 0) return plainText(token.tokens);
      if (token.type === "html") return "";
      return token.type === "br" ? " " : withoutEntities("text" in token ? String(token.text) : token.raw);
    })
    .join("")
    .replace(/\s+/g, " ")
    .trim();
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function withoutEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}
