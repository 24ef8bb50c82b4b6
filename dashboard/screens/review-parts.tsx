import { fetchPaths } from "../../src/core/fetch-paths.ts";
import { useQuery } from "../api/query.ts";
import type { SkillDiff, SkillSource } from "../api/types.ts";
import { DiffView } from "../text/diff-view.tsx";
import { MAX_MARKDOWN_CHARS, Markdown } from "../text/markdown.tsx";
import { Source } from "../text/source.tsx";
import { Visible } from "../text/visible.tsx";
import { Empty, Hash, Loaded, Moment, Note } from "../ui/parts.tsx";
import { definitionText } from "./origin-facts.ts";

/** One of the texts of a version, whole. */
export function ReadPart({
  read,
  part,
  seen,
}: {
  readonly read: SkillSource;
  readonly part: "source" | "recipe" | "definition";
  readonly seen: string;
}) {
  if (part === "recipe") {
    if (read.changed === null) return <Recipe text={read.recipe} />;
    return (
      <>
        <h3>{seen}</h3>
        <Recipe text={read.changed.recipe} />
        <h3>As it was approved</h3>
        <Recipe text={read.recipe} />
      </>
    );
  }
  if (part === "definition") {
    if (read.changed === null) return <Definition of={read.definition} label="What the script registers" />;
    return (
      <>
        <h3>{seen}</h3>
        <Definition of={read.changed.definition} label="What the script registers" />
        <h3>As it was approved</h3>
        <Definition of={read.definition} label="What was approved" />
      </>
    );
  }
  return (
    <>
      <Reach source={read.source} />
      <Source text={read.source} label="Source" language="javascript" />
      <p class="hint">
        The text is exactly what would run. Its colours are a guess that a script may lead astray: believe the text.
      </p>
    </>
  );
}

function Recipe({ text }: { readonly text: string | null }) {
  if (text === null) return <Empty title="This version has no verified recipe." />;
  return (
    <>
      {/* What clients get comes first: laid out, Markdown shows no definitions, titles or words after a fence. */}
      <Source text={text} label="Recipe, as clients get it" language="text" />
      {text.length <= MAX_MARKDOWN_CHARS && (
        <details>
          <summary>The recipe laid out</summary>
          <div class="card">
            <Markdown text={text} label="Recipe" />
          </div>
        </details>
      )}
    </>
  );
}

function Definition({ of, label }: { readonly of: Readonly<Record<string, unknown>>; readonly label: string }) {
  return <Source text={definitionText(of)} label={label} language="javascript" />;
}

/** A version's source beside the last approved other one. */
export function Difference({ path }: { readonly path: string }) {
  const query = useQuery<SkillDiff>(path);
  return (
    <Loaded query={query}>
      {(diff) => (
        <>
          {diff.against === null ? (
            <Note tone="info">No other version of this skill was approved: all of it is new.</Note>
          ) : (
            <p class="quiet">
              Against <Hash value={diff.against.toolSha256} />, approved <Moment at={diff.against.approvedAt} />.
            </p>
          )}
          <DiffView diff={diff} />
        </>
      )}
    </Loaded>
  );
}

/** What a script may ask of its publisher's site. It can reach nothing else; which paths, only its code says. */
function Reach({ source }: { readonly source: string }) {
  const { paths, complete } = fetchPaths(source);
  if (complete && paths.length === 0)
    return (
      <Note tone="quiet">
        <p>
          No call of <code>host.fetchOrigin</code> stands in the text. Code can hide one: believe what you read.
        </p>
      </Note>
    );
  return (
    <Note tone="info">
      <p>
        {complete ? (
          <>
            Every mention of <code>host</code> is a plain call with an address that stands in the text.
          </>
        ) : (
          <>
            What it fetches cannot be told from its text: it makes up an address, or uses <code>host</code> otherwise
            than in plain calls.
          </>
        )}{" "}
        It can reach this publisher's site alone.
        {paths.length > 0 && " Paths that stand in the code:"}
      </p>
      {paths.length > 0 && (
        <ul>
          {paths.map((path) => (
            <li key={path}>
              <code>
                <Visible text={path} most={200} />
              </code>
            </li>
          ))}
        </ul>
      )}
    </Note>
  );
}
