import type { Origin, ReadSkillVersion } from "../api/types.ts";
import { useMay } from "../session.tsx";
import { Action } from "../ui/action.tsx";
import { TextArea, textOf } from "../ui/form.tsx";
import { Note } from "../ui/parts.tsx";
import { publicName } from "../ui/words.ts";

/** Approving or rejecting a version. */
export function Decision({
  origin,
  version,
  isChanged,
  isRead,
  unopened,
}: {
  readonly origin: Origin;
  readonly version: ReadSkillVersion;
  readonly isChanged: boolean;
  /** Its texts, of the latest probe, are on the screen. */
  readonly isRead: boolean;
  /** Which of its texts were not looked at. */
  readonly unopened: readonly string[];
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
            <p>
              The latest probe did not see this version, <code>{toolSha256.slice(0, 12)}…</code>: the publisher has
              another one now, or none. Approved, with all that a probe saw last of it, it is what the gateway may hold
              from its own store in place of a version that is not approved.
            </p>
          </Note>
        )}
        <Unopened texts={unopened} />
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

/** What whoever decides or signs has not looked at. */
export function Unopened({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <Note tone="warn">
      <p>You have not opened {new Intl.ListFormat("en").format(texts.map((text) => `the ${text}`))}.</p>
    </Note>
  );
}
