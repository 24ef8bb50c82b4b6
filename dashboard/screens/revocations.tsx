import { usePages } from "../api/query.ts";
import type { Revocation } from "../api/types.ts";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { Select, TextArea, TextField, textOf } from "../ui/form.tsx";
import { Hash, Moment, State } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { useFilter } from "./filters.ts";
import { OperatorName } from "./operator-name.tsx";

const FILTER = { inForce: "text" } as const;

/** What counts for nothing any more, and what was lifted. */
export function Revocations() {
  const { fields, set, asked } = useFilter(FILTER);
  const isAdmin = useMay("admin");
  const may = useMay("reviewer");
  const path = `/revocations${asked}`;
  const query = usePages<Revocation>(path);
  const columns: readonly Column<Revocation>[] = [
    {
      head: "Revoked",
      kind: "main",
      cell: ({ kind, subject, reason }) => (
        <>
          {kind === "hash" ? "Code everywhere" : "Attestation"} <Hash value={subject} />
          <span class="under">
            <Visible text={reason} most={300} />
          </span>
        </>
      ),
    },
    { head: "When", cell: ({ revokedAt }) => <Moment at={revokedAt} /> },
    { head: "By", cell: ({ revokedBy }) => <OperatorName id={revokedBy} /> },
    {
      head: "In force",
      cell: ({ liftedAt, liftReason }) =>
        liftedAt === null ? (
          <State of="revoked" />
        ) : (
          <>
            lifted <Moment at={liftedAt} />: <Visible text={liftReason ?? ""} most={200} />
          </>
        ),
    },
    {
      head: "Actions",
      kind: "actions",
      cell: ({ id, liftedAt }) =>
        liftedAt !== null ? null : (
          <Action<Revocation, Revocation>
            label="Lift"
            title="Lift this revocation?"
            submit="Lift"
            tone="danger"
            small
            disabled={!isAdmin}
            reads={`/revocations/${id}`}
            request={(form, unchanged) => ({
              method: "POST",
              path: `/revocations/${id}/lift`,
              unchanged,
              body: { reason: textOf(form, "reason") },
            })}
          >
            <p>What was revoked counts, and may run, again.</p>
            <TextArea label="Reason" name="reason" required hint="For other operators, in the audit log." />
          </Action>
        ),
    },
  ];
  return (
    <>
      <div class="filters">
        <Select
          label="Show"
          name="inForce"
          value={fields.inForce}
          onChange={(event) => set("inForce", event.currentTarget.value)}
          options={[
            ["", "All"],
            ["true", "In force"],
            ["false", "Lifted"],
          ]}
        />
      </div>
      <div class="actions">
        <Action
          label="Revoke code everywhere"
          title="Revoke a hash everywhere"
          submit="Revoke"
          tone="danger"
          disabled={!may}
          request={(form) => ({
            method: "POST",
            path: "/revocations",
            creates: true,
            body: { kind: textOf(form, "kind"), subject: textOf(form, "subject"), reason: textOf(form, "reason") },
          })}
        >
          <Select
            label="What"
            name="kind"
            options={[
              ["hash", "Code: a tool_sha256, on every origin"],
              ["attestation", "An attestation, by its id"],
            ]}
          />
          <TextField label="SHA-256" name="subject" required hint="64 lower-case hexadecimal digits." />
          <TextArea label="Reason" name="reason" required hint="For other operators, in the audit log." />
        </Action>
        <CurlOf path={path} />
      </div>
      <PagedTable
        query={query}
        caption="Revocations"
        columns={columns}
        keyOf={({ id }) => id}
        empty={asked === "" ? "Nothing is revoked." : "No revocation fits the filter."}
      />
    </>
  );
}
