import { useState } from "preact/hooks";
import { queryOf, usePages } from "../api/query.ts";
import { API } from "../api/request.ts";
import type { Attestation, AttestationResult } from "../api/types.ts";
import { Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { type SigningKey, utcDay } from "../signing-keys.ts";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { Select } from "../ui/form.tsx";
import { Badge, Empty, Hash, Moment, ProblemNote, Screen, State, Tabs } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { Renew, Revoke, Verification } from "./attestation-steps.tsx";
import { fieldsOf, listAddress, useFilter } from "./filters.ts";
import { OriginPicker } from "./pickers.tsx";
import { Revocations } from "./revocations.tsx";
import { AttestationResults, PasteAttestation, useSigningKeys } from "./sign-panel.tsx";

/** An attestation that ends within so many days is worth renewing. */
const SOON_DAYS = 30;

/** Who vouches for what, until when; and what is revoked. */
export function AttestationsScreen({ tab }: { readonly tab: string }) {
  return (
    <Screen
      title="Attestations"
      lead="Signatures by which reviewers vouch for exact versions of skills, stored at this gateway. Publishers may ship others beside them."
    >
      <Tabs
        label="Attestations and revocations"
        current={tab}
        tabs={[
          { id: "stored", href: listAddress("/attestations"), label: "Stored" },
          { id: "revocations", href: listAddress("/attestations/revocations"), label: "Revocations" },
        ]}
      />
      {tab === "revocations" ? <Revocations /> : <Stored />}
    </Screen>
  );
}

const FILTER = { origin: "text", sort: "text", state: "text", expiring: "text" } as const;

/** @param filter as it is in the screen's address, where `expiring` is a number of days from now. */
function attestationsPath({ origin, sort, state, expiring }: Readonly<Record<keyof typeof FILTER, string>>): string {
  const ending = /^\d{1,4}$/.test(expiring) && {
    expiresFrom: utcDay(0),
    expiresBefore: utcDay(Number(expiring)),
  };
  return `/attestations${queryOf({ origin, sort: sort || "expiry", state, ...ending })}`;
}

function Stored() {
  const { fields, set, asked } = useFilter(FILTER);
  const [results, setResults] = useState<readonly AttestationResult[] | null>(null);
  const [shown, setShown] = useState<string | null>(null);
  const may = useMay("reviewer");
  const { keys = [], problem: unreadKeys } = useSigningKeys();
  const { origin, ...filter } = fieldsOf(FILTER, new URLSearchParams(asked));
  const path = attestationsPath({ origin, ...filter });
  const query = usePages<Attestation>(path);
  const done = (answer: { readonly results: readonly AttestationResult[] }) => setResults(answer.results);
  return (
    <>
      <div class="filters">
        <OriginPicker
          label="Origin"
          name="origin"
          by="origin"
          takesOther
          value={fields.origin}
          onChoose={(address) => set("origin", address)}
        />
        <Select
          label="Order"
          name="sort"
          value={fields.sort}
          onChange={(event) => set("sort", event.currentTarget.value)}
          options={[
            ["", "Ending first"],
            ["stored", "Stored first"],
          ]}
        />
        <Select
          label="State"
          name="state"
          value={fields.state}
          onChange={(event) => set("state", event.currentTarget.value)}
          options={[
            ["", "Any"],
            ["in_force", "In force"],
            ["expired", "Ended"],
            ["revoked", "Revoked"],
          ]}
        />
        <Select
          label="Ending"
          name="expiring"
          value={fields.expiring}
          onChange={(event) => set("expiring", event.currentTarget.value)}
          options={[
            ["", "Any time"],
            ["14", "Within 14 days"],
            ["30", "Within 30 days"],
            ["90", "Within 90 days"],
          ]}
        />
      </div>
      <div class="actions">
        <PasteAttestation may={may} onDone={done} />
        <CurlOf path={path} />
        {origin !== "" && (
          <a
            class="button small"
            href={`${API}/attestations/export${queryOf({ origin })}`}
            download="attestations.json"
          >
            Export as attestations.json
          </a>
        )}
      </div>
      {unreadKeys !== null && <ProblemNote problem={unreadKeys} />}
      {results !== null && <AttestationResults results={results} />}
      <PagedTable
        query={query}
        caption="Attestations"
        columns={attestationColumns({ may, keys, done, show: setShown })}
        keyOf={({ id }) => id}
        empty={
          <Empty title={asked === "" ? "No attestation is stored here." : "No attestation fits the filter."}>
            <p>
              Sign a version under <Link href="/review">Review</Link>, or paste one.
            </p>
          </Empty>
        }
      />
      {shown !== null && <Verification id={shown} onClose={() => setShown(null)} />}
    </>
  );
}

function attestationColumns({
  may,
  keys,
  done,
  show,
}: {
  readonly may: boolean;
  readonly keys: readonly SigningKey[];
  readonly done: (answer: { readonly results: readonly AttestationResult[] }) => void;
  readonly show: (id: string) => void;
}): readonly Column<Attestation>[] {
  return [
    {
      head: "Skill",
      kind: "main",
      cell: ({ skill, origin }) => (
        <>
          <Visible text={skill} most={120} />
          <span class="under">
            <Visible text={origin} most={200} />
          </span>
        </>
      ),
    },
    { head: "Reviewer", cell: ({ attester }) => <Visible text={attester} most={120} /> },
    { head: "Until", cell: ({ validUntil }) => <Until day={validUntil} /> },
    { head: "Hash", cell: ({ toolSha256 }) => <Hash value={toolSha256} /> },
    { head: "Stored", cell: ({ storedAt }) => <Moment at={storedAt} /> },
    {
      head: "Actions",
      kind: "actions",
      cell: (attestation) => (
        <>
          <button type="button" class="button small" onClick={() => show(attestation.id)}>
            Verify
          </button>
          {attestation.revocationId === null ? (
            <>
              <Renew attestation={attestation} may={may} keys={keys} onDone={done} />
              <Revoke attestation={attestation} may={may} />
            </>
          ) : (
            <State of="revoked" />
          )}
        </>
      ),
    },
  ];
}

function Until({ day }: { readonly day: string }) {
  if (day < utcDay(0)) return <Badge tone="bad">ended {day}</Badge>;
  if (day <= utcDay(SOON_DAYS)) return <Badge tone="warn">{day}</Badge>;
  return <>{day}</>;
}
