import { useEffect, useState } from "preact/hooks";
import { queryOf, useReading } from "../api/query.ts";
import { get } from "../api/request.ts";
import type { Origin, ReadSkillVersion, SkillSource } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { Facts, Hash, Loaded, Moment, Note, VersionState } from "../ui/parts.tsx";
import { bytes, publicName } from "../ui/words.ts";
import { OperatorName } from "./operator-name.tsx";
import { textsTaken } from "./origin-facts.ts";
import { Decision } from "./review-decision.tsx";
import { Difference, ReadPart } from "./review-parts.tsx";
import { changesOf, HiddenWarnings, Label, Texts } from "./review-texts.tsx";
import { SignPanel } from "./sign-panel.tsx";

type Part = "source" | "diff" | "recipe" | "definition";
const PARTS: readonly (readonly [Part, string])[] = [
  ["source", "Source"],
  ["diff", "Difference"],
  ["recipe", "Recipe"],
  ["definition", "Schema"],
];

/** One version: its texts, and what can be done about it. */
export function Version({ origin, version }: { readonly origin: Origin; readonly version: ReadSkillVersion }) {
  const isNewer = version.comparedWith !== null && version.state === "waiting";
  const [part, setPart] = useState<Part>(isNewer ? "diff" : "source");
  const [seenParts, setSeen] = useState<ReadonlySet<Part>>(new Set());
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
  const isRead = read !== undefined && !isSwapped && isOfOneProbe;
  useEffect(() => {
    if (isRead) setSeen((before) => new Set([...before, part]));
  }, [isRead, part]);
  useEffect(() => {
    // What was looked at is not what stands there now.
    if (isSwapped) setSeen(new Set());
  }, [isSwapped]);
  const unopened = read === undefined ? [] : unopenedTexts(read, seenParts);
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
                  <OperatorName id={version.approvedBy ?? version.rejectedBy ?? ""} />
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
        <div class="announced" role="status">
          {read !== undefined && <HiddenWarnings read={read} />}
        </div>
        {read !== undefined && read.changed !== null && <Texts read={read} last={read.changed} seen={seen} />}
        {isSwapped && (
          <Note tone="warn">
            <p>
              <strong>What comes with this code changed while you had it open:</strong> its description, version, recipe
              or definition. Below it stands as it is now.
            </p>
            <button type="button" class="button small" onClick={() => setOpened(texts)}>
              I have read it again
            </button>
          </Note>
        )}
        <Decision origin={origin} version={version} isChanged={isChanged} isRead={isRead} unopened={unopened} />
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
      <SignPanel origin={origin.origin} version={version} isRead={isRead} unopened={unopened} />
    </div>
  );
}

/** What of a version nobody had on the screen; the difference shows the code as well as the source does. */
function unopenedTexts({ recipe, changed }: SkillSource, seen: ReadonlySet<Part>): readonly string[] {
  const hasRecipe = (changed === null ? recipe : changed.recipe) !== null;
  const texts = [
    !seen.has("source") && !seen.has("diff") && "source",
    hasRecipe && !seen.has("recipe") && "recipe",
    !seen.has("definition") && "schema",
  ];
  return texts.filter((text) => text !== false);
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
