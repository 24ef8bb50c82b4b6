import type { SkillSource } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";
import { Note } from "../ui/parts.tsx";
import { count } from "../ui/words.ts";
import { hiddenTexts } from "./origin-facts.ts";

type Changed = NonNullable<SkillSource["changed"]>;

/** As the beginning of a sentence: what the publisher changed under the same hash. */
export function changesOf({ version, recipe, definition, changed }: SkillSource): string {
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
export function Texts({
  read,
  last,
  seen,
}: {
  readonly read: SkillSource;
  readonly last: Changed;
  readonly seen: string;
}) {
  return (
    <div class="beside">
      <TextsOf title={seen} description={last.description} version={last.version} />
      <TextsOf title="As it was approved" description={read.version.description} version={read.version.version} />
    </div>
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
export function Label({ of }: { readonly of: string | null }) {
  return of === null ? <>none</> : <Visible text={of} most={60} />;
}

/** Warns, aloud too, of what nobody sees in any text that a decision takes, whichever of them is open. */
export function HiddenWarnings({ read }: { readonly read: SkillSource }) {
  return (
    <>
      {hiddenTexts(read).map(({ where, found }) => (
        <Note key={where} tone="bad">
          <p>
            <strong>The {where} has characters that nobody sees.</strong> They are marked by their code points where it
            is shown; they may make the text look like something else than what runs.
          </p>
          <ul>
            {found.map(({ codePoint, count: times, line }) => (
              <li key={codePoint}>
                <code>{codePoint}</code>, {count(times, "time")}, first in line {line}
              </li>
            ))}
          </ul>
        </Note>
      ))}
    </>
  );
}
