import type { SiteContent } from "../../src/core/agent-skills/publication.ts";
import { Visible } from "../text/visible.tsx";
import { Badge, Empty, Facts, Hash } from "../ui/parts.tsx";
import { type Column, LongTable } from "../ui/table.tsx";
import { bytes, count } from "../ui/words.ts";
import { type Published, type PublishedChange, publishedOf } from "./site-changes.ts";

/** What a thing is, and whose. */
function KindOf({ thing: { kind, listing } }: { readonly thing: Published }) {
  return (
    <span class="under">
      {kind}
      {listing !== null && (
        <>
          {" of the listing "}
          <Visible text={listing} />
        </>
      )}
    </span>
  );
}

const COLUMNS: readonly Column<Published>[] = [
  {
    head: "What",
    kind: "main",
    cell: (thing) => (
      <>
        <Visible text={thing.name} />
        <KindOf thing={thing} />
        {thing.description !== "" && (
          <span class="under">
            <Visible text={thing.description} most={160} />
          </span>
        )}
      </>
    ),
  },
  { head: "Address", kind: "wide", cell: ({ address }) => <Visible text={address} most={300} /> },
  {
    head: "For",
    cell: ({ visibility }) =>
      visibility === "public" ? "everybody" : <Badge tone="info">authenticated callers</Badge>,
  },
  { head: "Bytes", kind: "end", cell: (thing) => bytes(thing.bytes) },
  { head: "Digest", cell: ({ sha256 }) => <Hash value={sha256} /> },
];

/** All that one version publishes. */
export function SiteContents({ content }: { readonly content: SiteContent }) {
  const things = publishedOf(content);
  const skills = things.filter(({ kind }) => kind === "skill");
  return (
    <>
      <div class="card">
        <Facts
          items={[
            ["Title", <Visible text={content.title} />],
            ["Skills", count(skills.length, "skill")],
            ["Listings", count(content.listings.length, "listing")],
            ["Memories", count(content.memories.length, "memory", "memories")],
            ["Other files", count(content.files.length, "file")],
            ...(content.description === ""
              ? []
              : [["Description", <Visible text={content.description} most={300} />] as const]),
          ]}
        />
      </div>
      {things.length === 0 ? (
        <Empty title="It publishes no skill and no file." />
      ) : (
        <LongTable caption="What it publishes" rows={things} columns={COLUMNS} keyOf={({ key }) => key} />
      )}
    </>
  );
}

const TONES = { added: "ok", removed: "bad", changed: "info" } as const;
const SHORT_HASH = 12;

const CHANGES: readonly Column<PublishedChange>[] = [
  {
    head: "What",
    kind: "main",
    cell: ({ thing }) =>
      thing === null ? (
        "The site"
      ) : (
        <>
          <Visible text={thing.name} />
          <KindOf thing={thing} />
        </>
      ),
  },
  { head: "Change", cell: ({ change }) => <Badge tone={TONES[change]}>{change}</Badge> },
  {
    head: "How",
    kind: "wide",
    cell: ({ thing, change, differences }) =>
      change === "changed"
        ? differences.map(({ fact, was, is }) => (
            <p key={fact}>
              <Visible text={fact} />: <Fact of={fact} value={was} /> → <Fact of={fact} value={is} />
            </p>
          ))
        : thing !== null && (
            <p>
              <Visible text={thing.address} most={300} /> · {bytes(thing.bytes)}
            </p>
          ),
  },
];

function Fact({ of, value }: { readonly of: string; readonly value: string }) {
  if (value === "") return <span class="quiet">none</span>;
  if (of === "bytes") return <code title={value}>{value.slice(0, SHORT_HASH)}…</code>;
  return <Visible text={value} most={200} />;
}

/** What one version changes of another. */
export function SiteChanges({ changes }: { readonly changes: readonly PublishedChange[] }) {
  if (changes.length === 0) return <Empty title="Nothing: both publish the same." />;
  return <LongTable caption="Changes" rows={changes} columns={CHANGES} keyOf={({ key }) => key} />;
}
