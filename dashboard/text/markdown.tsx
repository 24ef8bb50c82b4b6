import { marked, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Source } from "./source.tsx";
import { visibleParts } from "./visible.tsx";

/** The parser's patterns may take long on text that was made for it: longer texts are shown as they are written. */
export const MAX_MARKDOWN_CHARS = 32_768;
const MAX_DEPTH = 24;
const FRONT_MATTER = /^---\n([\s\S]*?)\n---(?:\n|$)/;

/** Somebody else's Markdown as elements of our own making. HTML in it is shown as the text that it is; images are not loaded. */
export function Markdown({ text, label }: { readonly text: string; readonly label: string }) {
  const parsed = useMemo(() => parseMarkdown(text), [text]);
  if (parsed === null) return <Source text={text} label={label} language="text" />;
  return (
    <div class="markdown">
      {parsed.frontMatter !== null && <pre class="front-matter">{visibleParts(parsed.frontMatter)}</pre>}
      <Blocks tokens={parsed.tokens} depth={0} />
    </div>
  );
}

/** Front matter, and the rest as tokens; null: the text is too long, or nested too deep, to be followed. */
export function parseMarkdown(
  text: string,
): { readonly frontMatter: string | null; readonly tokens: readonly Token[] } | null {
  if (text.length > MAX_MARKDOWN_CHARS) return null;
  const frontMatter = FRONT_MATTER.exec(text);
  try {
    const tokens = marked.lexer(frontMatter === null ? text : text.slice(frontMatter[0].length), { gfm: true });
    return { frontMatter: frontMatter?.[1] ?? null, tokens };
  } catch {
    // Nested deeper than the parser can follow.
    return null;
  }
}

export function Blocks({ tokens, depth }: { readonly tokens: readonly Token[]; readonly depth: number }) {
  if (depth > MAX_DEPTH) return <p>{tokens.map(({ raw }) => visibleParts(raw))}</p>;
  return <>{tokens.map((token) => block(token, depth + 1))}</>;
}

function block(token: Token, depth: number): ComponentChildren {
  switch (token.type) {
    case "space":
      return null;
    case "hr":
      return <hr />;
    case "heading":
      return <Heading level={token.depth + 2}>{inline(token, depth)}</Heading>;
    case "code":
      return (
        <>
          {hasMoreThanAName(token.lang) && <p>{visibleParts(token.lang)}</p>}
          <Source
            text={token.text}
            label="Code in the recipe"
            language={isScript(token.lang) ? "javascript" : "text"}
          />
        </>
      );
    case "blockquote":
      return (
        <blockquote>
          <Blocks tokens={token.tokens ?? []} depth={depth} />
        </blockquote>
      );
    case "list":
      return <List list={token as Tokens.List} depth={depth} />;
    case "table":
      return <MarkdownTable table={token as Tokens.Table} depth={depth} />;
    case "paragraph":
      return <p>{inline(token, depth)}</p>;
    case "text":
      return <p>{inline(token, depth)}</p>;
    default:
      return <p>{visibleParts(token.raw)}</p>;
  }
}

function Heading({ level, children }: { readonly level: number; readonly children: ComponentChildren }) {
  if (level <= 3) return <h3>{children}</h3>;
  if (level === 4) return <h4>{children}</h4>;
  return level === 5 ? <h5>{children}</h5> : <h6>{children}</h6>;
}

function List({ list, depth }: { readonly list: Tokens.List; readonly depth: number }) {
  const items = list.items.map((item) => (
    <li>
      {item.task && <span>{item.checked ? "☑ " : "☐ "}</span>}
      {item.loose || item.tokens.some(({ type }) => type !== "text") ? (
        <Blocks tokens={item.tokens} depth={depth} />
      ) : (
        item.tokens.map((token) => inline(token, depth))
      )}
    </li>
  ));
  return list.ordered ? <ol start={list.start === "" ? 1 : list.start}>{items}</ol> : <ul>{items}</ul>;
}

function MarkdownTable({ table, depth }: { readonly table: Tokens.Table; readonly depth: number }) {
  return (
    <div class="table-frame">
      <table>
        <thead>
          <tr>
            {table.header.map((cell) => (
              <th scope="col">{inline(cell, depth)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{inline(cell, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type WithTokens = { readonly tokens?: readonly Token[] | undefined; readonly text?: string; readonly raw?: string };

function inline(parent: WithTokens, depth: number): ComponentChildren {
  const { tokens } = parent;
  if (tokens === undefined || depth > MAX_DEPTH) return visibleParts(plain(parent.text ?? parent.raw ?? ""));
  return tokens.map((token) => span(token, depth + 1));
}

function span(token: Token, depth: number): ComponentChildren {
  switch (token.type) {
    case "text":
    case "escape":
      return visibleParts(plain(token.text));
    case "strong":
      return <strong>{inline(token as WithTokens, depth)}</strong>;
    case "em":
      return <em>{inline(token as WithTokens, depth)}</em>;
    case "del":
      return <del>{inline(token as WithTokens, depth)}</del>;
    case "codespan":
      return <code>{visibleParts(plain(token.text))}</code>;
    case "br":
      return <br />;
    case "link":
      return (
        <>
          <OutsideLink href={token.href}>{inline(token as WithTokens, depth)}</OutsideLink>
          {titleOf(token as Tokens.Link)}
        </>
      );
    case "image":
      return (
        <>
          <OutsideLink href={token.href}>[image: {visibleParts(plain(token.text))}]</OutsideLink>
          {titleOf(token as Tokens.Image)}
        </>
      );
    default:
      return visibleParts(token.raw);
  }
}

/** What a browser would show on hovering alone. */
function titleOf({ title }: { readonly title?: string | null }): ComponentChildren {
  return title ? <> “{visibleParts(plain(title))}”</> : null;
}

/** A link that leaves the console and tells nobody where from; whatever is no http address is text. */
function OutsideLink({ href, children }: { readonly href: string; readonly children: ComponentChildren }) {
  const address = webAddress(href);
  if (address === null) {
    return (
      <span>
        {children} (<code>{visibleParts(href.slice(0, 200))}</code>)
      </span>
    );
  }
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" title={address}>
      {children}
    </a>
  );
}

/** An absolute http or https address; null: it is something else, such as a script or a path that would be one of the console. */
export function webAddress(href: string): string | null {
  if (!URL.canParse(href)) return null;
  const url = new URL(href);
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** The parser writes the five characters of HTML as entities in some places; elements want text. */
function plain(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}

/** The words after a fence that are more than a language. */
function hasMoreThanAName(words: string | undefined): words is string {
  return words !== undefined && /\s/.test(words);
}

function isScript(language: string | undefined): boolean {
  return language !== undefined && /^(?:js|javascript|json)\b/.test(language);
}
