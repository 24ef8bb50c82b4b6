import { useState } from "preact/hooks";
import { fetchPaths } from "../../src/core/fetch-paths.ts";
import { hiddenCharacters } from "../../src/core/hidden-characters.ts";
import { queryOf, useQuery, useReading } from "../api/query.ts";
import { get } from "../api/request.ts";
import type { HiddenCharacter, Origin, ReadSkillVersion, SkillDiff, SkillSource, SkillVersion } from "../api/types.ts";
import { Link, usePlace } from "../router.tsx";
import { useMay } from "../session.tsx";
import { DiffView } from "../text/diff-view.tsx";
import { MAX_MARKDOWN_CHARS, Markdown } from "../text/markdown.tsx";
import { Source } from "../text/source.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { TextArea, textOf } from "../ui/form.tsx";
import { Empty, Facts, Hash, Loaded, Moment, Note, Screen, VersionState } from "../ui/parts.tsx";
import { bytes, count, publicName } from "../ui/words.ts";
import { useCurrentVersions } from "./current-versions.ts";
import { isToDecide, reviewPath } from "./origin.tsx";
import { textsTaken } from "./origin-facts.ts";
import { SignPanel } from "./sign-panel.tsx";

/** Reading one version of a skill, and deciding about it. */
export function ReviewScreen({ id }: { readonly id: string }) {
  const { query } = usePlace();
  const origin = useQuery<Origin>(`/origins/${id}`);
  const current = useCurrentVersions(id);
  const [name, sha, scope] = ["name", "sha", "scope"].map((key) => query.get(key));
  const isChosen = typeof name === "string" && /^[0-9a-f]{64}$/.test(sha ?? "");
  // Any version that a probe ever saw has an address, however many others there are.
  const chosen = useQuery<ReadSkillVersion>(
    isChosen ? `/origins/${id}/skills/${sha}${queryOf({ name, scope })}` : null,
  );
  return (
    <Screen
      title={`Review of ${origin.data?.origin ?? "an origin"}`}
      back={{ href: `/origins/${id}`, label: "Back to the origin" }}
    >
      <Loaded query={current}>
        {(versions) => {
          if (versions.length === 0 && !isChosen)
            return <Empty title="The latest probe saw no skill of this origin, or there was none yet." />;
          return (
            <div class="review">
              <VersionList originId={id} current={versions} chosen={chosen.data} />
              {!isChosen ? (
                <Empty title="Choose a version to read." />
              ) : (
                <Loaded query={chosen}>
                  {(version) =>
                    origin.data === undefined ? null : (
                      <Version
                        key={`${version.toolSha256} ${publicName(version)}`}
                        origin={origin.data}
                        version={version}
                      />
                    )
                  }
                </Loaded>
              )}
            </div>
          );
        }}
      </Loaded>
    </Screen>
  );
}

const ORDER = { waiting: 0, approved: 1, rejected: 2 } as const;

function VersionList({
  originId,
  current,
  chosen,
}: {
  readonly originId: string;
  readonly current: readonly SkillVersion[];
  readonly chosen: ReadSkillVersion | undefined;
}) {
  const rank = (version: SkillVersion) => (isToDecide(version) ? 0 : ORDER[version.state]);
  const sorted = current.toSorted((a, b) => rank(a) - rank(b));
  const shown: readonly SkillVersion[] = chosen === undefined || chosen.isCurrent ? sorted : [chosen, ...sorted];
  const nameOf = (version: SkillVersion) => version.toolSha256 + publicName(version);
  return (
    <nav class="review-list" aria-label="Versions">
      {shown.map((version) => (
        <Link
          key={nameOf(version)}
          href={reviewPath(originId, version)}
          aria-current={chosen !== undefined && nameOf(version) === nameOf(chosen) ? "true" : undefined}
        >
          <Visible text={publicName(version)} />
          <span>
            <VersionState of={version} /> <code class="quiet">{version.toolSha256.slice(0, 8)}</code>
          </span>
        </Link>
      ))}
      <Link href={`/origins/${originId}/skills`}>All that probes saw before</Link>
    </nav>
  );
}

type Part = "source" | "diff" | "recipe" | "definition";
const PARTS: readonly (readonly [Part, string])[] = [
  ["source", "Source"],
  ["diff", "Difference"],
  ["recipe", "Recipe"],
  ["definition", "Schema"],
];

function Version({ origin, version }: { readonly origin: Origin; readonly version: ReadSkillVersion }) {
  const isNewer = version.comparedWith !== null && version.state === "waiting";
  const [part, setPart] = useState<Part>(isNewer ? "diff" : "source");
  const path = `/origins/${origin.id}/skills/${version.toolSha256}`;
  const skillQuery = queryOf({ name: version.name, scope: version.scope });
  const sourcePath = `${path}/source${skillQuery}`;
  // A probe may have seen other texts: those of an earlier one are not shown for it.
  const source = useReading<SkillSource>(`${sourcePath} ${origin.probedAt}`, (signal) => get(sourcePath, signal));
  const read = source.data;
  const [opened, setOpened] = useState<string | null>(null);
  const texts = read === undefined ? null : textsTaken(read);
  if (opened === null && texts !== null) setOpened(texts);
  const isSwapped = opened !== null && texts !== null && texts !== opened;
  const isChanged = read === undefined ? version.changedSinceApproval : read.changed !== null;
  const { description, version: label } = read?.version ?? version;
  const seen = version.isCurrent ? "As the publisher has it now" : "As a probe saw it last";
  // Read apart from each other, they may be of different probes for a moment.
  const isOfOneProbe = !version.isCurrent || version.lastSeenAt === origin.probedAt;
  return (
    <div class="review-body">
      <div class="card">
        <h2>
          <Visible text={publicName(version)} />{" "}
          <VersionState of={{ state: version.state, changedSinceApproval: isChanged }} />
        </h2>
        {!isChanged && description !== null && (
          <p>
            <Visible text={description} most={600} />
          </p>
        )}
        <Facts
          items={[
            ["Hash", <Hash value={version.toolSha256} />],
            ...(isChanged ? [] : [["Version", <Label of={label} />] as const]),
            ["Size", version.bytes === null ? "not kept" : bytes(version.bytes)],
            ["First seen", <Moment at={version.firstSeenAt} />],
            ["Published", version.isCurrent ? "in the last probe" : "no longer"],
            [
              "Decided",
              version.state === "waiting" ? (
                "not yet"
              ) : (
                <>
                  <Moment at={version.approvedAt ?? version.rejectedAt} /> by{" "}
                  <Visible text={version.approvedBy ?? version.rejectedBy ?? ""} />
                </>
              ),
            ],
          ]}
        />
        {version.note !== null && (
          <p class="quiet">
            Note: <Visible text={version.note} />
          </p>
        )}
        {isChanged && (
          <Note tone="warn">
            <p>
              {read === undefined ? "It" : changesOf(read)} changed since it was approved. Clients get what was approved
              until you approve it again.
            </p>
          </Note>
        )}
        {read !== undefined && read.changed !== null && <Texts read={read} last={read.changed} seen={seen} />}
        {isSwapped && (
          <Note tone="warn">
            <p>
              <strong>What comes with this code changed while you had it open:</strong> its description, version, recipe
              or definition. Below it stands as it is now.
            </p>
            <button type="button" onClick={() => setOpened(texts)}>
              I have read it again
            </button>
          </Note>
        )}
        <Decision
          origin={origin}
          version={version}
          isChanged={isChanged}
          isRead={read !== undefined && !isSwapped && isOfOneProbe}
        />
      </div>
      <div class="tabs" role="tablist" aria-label="What to read">
        {PARTS.map(([id, label]) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`tab-${id}`}
            aria-selected={part === id}
            aria-controls="part"
            tabIndex={part === id ? 0 : -1}
            onClick={() => setPart(id)}
            onKeyDown={(event) => moveTab(event, part, setPart)}
          >
            {label}
          </button>
        ))}
        <span class="spring" />
      </div>
      <div id="part" role="tabpanel" aria-labelledby={`tab-${part}`} class="section">
        {part === "diff" ? (
          <Difference path={`${path}/diff${skillQuery}`} />
        ) : (
          <Loaded query={source}>{(read) => <ReadPart read={read} part={part} seen={seen} />}</Loaded>
        )}
        <div class="actions">
          <CurlOf path={`${path}/${part === "diff" ? "diff" : "source"}${skillQuery}`} />
        </div>
      </div>
      <SignPanel origin={origin.origin} version={version} />
    </div>
  );
}

type Changed = NonNullable<SkillSource["changed"]>;

/** As the beginning of a sentence: what the publisher changed under the same hash. */
function changesOf({ version, recipe, definition, changed }: SkillSource): string {
  if (changed === null) return "It";
  const parts = [
    changed.description !== version.description && "description",
    changed.version !== version.version && "version",
    changed.recipe !== recipe && "recipe",
    JSON.stringify(changed.definition) !== JSON.stringify(definition) && "definition",
  ].filter((part) => part !== false);
  return parts.length === 0 ? "It" : `Its ${parts.join(" and its ")}`;
}

/** What a client reads of a skill before it calls: as a probe saw it last, beside what was approved. `seen` says the former in words. */
function Texts({ read, last, seen }: { readonly read: SkillSource; readonly last: Changed; readonly seen: string }) {
  return (
    <>
      <HiddenWarning found={hiddenCharacters(last.description)} where="new description" />
      <HiddenWarning found={hiddenCharacters(last.version ?? "")} where="new version" />
      <div class="beside">
        <TextsOf title={seen} description={last.description} version={last.version} />
        <TextsOf title="As it was approved" description={read.version.description} version={read.version.version} />
      </div>
    </>
  );
}

function TextsOf({
  title,
  description,
  version,
}: {
  readonly title: string;
  readonly description: string | null;
  readonly version: string | null;
}) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <p>{description === null ? <span class="quiet">not kept</span> : <Visible text={description} most={2_000} />}</p>
      <p>
        <span class="quiet">Version:</span> <Label of={version} />
      </p>
    </section>
  );
}

/** The version that a publisher's line names. */
function Label({ of }: { readonly of: string | null }) {
  return of === null ? <>none</> : <Visible text={of} most={60} />;
}

function moveTab(event: KeyboardEvent, part: Part, setPart: (part: Part) => void): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  const at = PARTS.findIndex(([id]) => id === part);
  const next = PARTS[(at + step + PARTS.length) % PARTS.length]?.[0] ?? "source";
  setPart(next);
  document.getElementById(`tab-${next}`)?.focus();
}

function ReadPart({
  read,
  part,
  seen,
}: {
  readonly read: SkillSource;
  readonly part: "source" | "recipe" | "definition";
  readonly seen: string;
}) {
  if (part === "recipe") {
    if (read.changed === null) return <Recipe text={read.recipe} hidden={read.hidden.recipe} />;
    return (
      <>
        <h3>{seen}</h3>
        <Recipe text={read.changed.recipe} hidden={read.hidden.recipe} />
        <h3>As it was approved</h3>
        <Recipe text={read.recipe} hidden={[]} />
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
      <HiddenWarning found={read.hidden.source} where="source" />
      <Reach source={read.source} />
      <Source text={read.source} label="Source" language="javascript" />
      <p class="hint">
        The text is exactly what would run. Its colours are a guess that a script may lead astray: believe the text.
      </p>
    </>
  );
}

function Recipe({ text, hidden }: { readonly text: string | null; readonly hidden: readonly HiddenCharacter[] }) {
  if (text === null) return <Empty title="This version has no verified recipe." />;
  return (
    <>
      <HiddenWarning found={hidden} where="recipe" />
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
  return <Source text={JSON.stringify(of, null, 2)} label={label} language="javascript" />;
}

function Difference({ path }: { readonly path: string }) {
  const query = useQuery<SkillDiff>(path);
  return (
    <Loaded query={query}>
      {(diff) => (
        <>
          <HiddenWarning found={diff.hidden} where="source" />
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

function HiddenWarning({ found, where }: { readonly found: readonly HiddenCharacter[]; readonly where: string }) {
  if (found.length === 0) return null;
  return (
    <Note tone="bad">
      <p>
        <strong>The {where} has characters that nobody sees.</strong> They are marked below by their code points; they
        may make the text look like something else than what runs.
      </p>
      <ul>
        {found.map(({ codePoint, count: times, line }) => (
          <li key={codePoint}>
            <code>{codePoint}</code>, {count(times, "time")}, first in line {line}
          </li>
        ))}
      </ul>
    </Note>
  );
}

/** What a script may ask of its publisher's site. It can reach nothing else; which paths, only its code says. */
function Reach({ source }: { readonly source: string }) {
  const { paths, complete } = fetchPaths(source);
  if (complete && paths.length === 0)
    return (
      <Note tone="quiet">
        No call of <code>host.fetchOrigin</code> stands in the text. Code can hide one: believe what you read.
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

function Decision({
  origin,
  version,
  isChanged,
  isRead,
}: {
  readonly origin: Origin;
  readonly version: ReadSkillVersion;
  readonly isChanged: boolean;
  /** Its texts, of the latest probe, are on the screen. */
  readonly isRead: boolean;
}) {
  const may = useMay("reviewer");
  const { scope, name, toolSha256 } = version;
  const decide = (step: "approve" | "reject") => (form: FormData) => ({
    method: "POST" as const,
    path: `/origins/${origin.id}/${step}`,
    body: {
      skills: [{ scope, name, toolSha256 }],
      // A probe since the dialog was opened may have seen other texts: the gateway refuses.
      ...(origin.probedAt === null ? {} : { probedAt: origin.probedAt }),
      ...(textOf(form, "note") === "" ? {} : { note: textOf(form, "note") }),
    },
  });
  return (
    <div class="actions">
      <Action
        label="Approve"
        title={`Approve ${publicName(version)}?`}
        submit="Approve"
        tone="primary"
        disabled={!may || !isRead || (version.state === "approved" && !isChanged) || version.bytes === null}
        request={decide("approve")}
      >
        {version.isCurrent ? (
          <p>
            This very version, <code>{toolSha256.slice(0, 12)}…</code>, becomes what clients get
            {isChanged && ", with the description, version, recipe and definition that the publisher has now"}.
          </p>
        ) : (
          <Note tone="warn">
            The latest probe did not see this version, <code>{toolSha256.slice(0, 12)}…</code>: the publisher has
            another one now, or none. Approved, with all that a probe saw last of it, it is what the gateway may hold
            from its own store in place of a version that is not approved.
          </Note>
        )}
        <TextArea label="Note" name="note" hint="What you looked at, for other operators. May be left out." />
      </Action>
      <Action
        label="Reject"
        title={`Reject ${publicName(version)}?`}
        submit="Reject"
        tone="danger"
        disabled={!may || version.state === "rejected"}
        request={decide("reject")}
      >
        <p>Clients do not get it. An approval of it is withdrawn; the version approved before stays in service.</p>
        <TextArea label="Note" name="note" hint="Why, for other operators and the publisher. May be left out." />
      </Action>
      {version.bytes === null && <span class="quiet">Its bytes are not kept: probe the origin again to decide.</span>}
    </div>
  );
}
