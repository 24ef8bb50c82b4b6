import { useEffect, useState } from "preact/hooks";
import type { AttestationClaim } from "../../src/core/attestation/attestation.ts";
import type { CalendarDate } from "../../src/core/attestation/calendar-date.ts";
import type { Sha256Hex } from "../../src/core/integrity.ts";
import type { CanonicalOrigin } from "../../src/core/origin.ts";
import { ApiProblem, toProblem } from "../api/problem.ts";
import type { AttestationResult, SkillVersion } from "../api/types.ts";
import { Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { listKeys, type SigningKey, signEntry, utcDay } from "../signing-keys.ts";
import { Visible } from "../text/visible.tsx";
import { Action } from "../ui/action.tsx";
import { Select, TextArea, TextField, textOf } from "../ui/form.tsx";
import { Note, ProblemNote, Section } from "../ui/parts.tsx";
import { phrase, publicName } from "../ui/words.ts";
import { Unopened } from "./review-decision.tsx";

const DEFAULT_DAYS = 180;

interface SigningKeys {
  /** Undefined while they are read, and where they cannot be. */
  readonly keys: readonly SigningKey[] | undefined;
  readonly problem: ApiProblem | null;
}

/** The keys of this browser. */
export function useSigningKeys(): SigningKeys {
  const [known, setKnown] = useState<SigningKeys>({ keys: undefined, problem: null });
  useEffect(() => {
    listKeys().then(
      (keys) => setKnown({ keys, problem: null }),
      (error) => setKnown({ keys: undefined, problem: unreadable(error) }),
    );
  }, []);
  return known;
}

function unreadable(error: unknown): ApiProblem {
  return new ApiProblem(0, {
    code: "signing_keys",
    detail: `The signing keys of this browser cannot be read: ${toProblem(error).message}`,
  });
}

/** Vouching for a version: with a key of this browser, or by an attestation that was signed elsewhere. */
export function SignPanel({
  origin,
  version,
  isRead,
  unopened,
}: {
  readonly origin: string;
  readonly version: SkillVersion;
  /** Its texts are on the screen. */
  readonly isRead: boolean;
  /** Which of them were not looked at. */
  readonly unopened: readonly string[];
}) {
  const { keys, problem } = useSigningKeys();
  const may = useMay("reviewer");
  const [results, setResults] = useState<readonly AttestationResult[] | null>(null);
  const done = (answer: { readonly results: readonly AttestationResult[] }) => setResults(answer.results);
  return (
    <Section
      title="Attest"
      hint="A reviewer vouches for exactly this code, at this origin, under this name, until a day. Whether it counts depends on whether the reviewer is registered."
      actions={
        <>
          <PasteAttestation may={may} onDone={done} />
          <Action<{ readonly results: readonly AttestationResult[] }>
            label="Sign here"
            title={`Sign ${publicName(version)}`}
            submit="Sign and store"
            tone="primary"
            disabled={!may || !isRead || keys === undefined || keys.length === 0}
            request={async (form) => {
              const key = keys?.find(({ publicKey }) => publicKey === textOf(form, "key"));
              if (key === undefined) throw new Error("Choose a key.");
              const claim = claimOf(origin, version.name, version.toolSha256, textOf(form, "validUntil"));
              const entry = await signEntry(claim, key, textOf(form, "note") || null);
              return { method: "POST", path: "/attestations", creates: true, body: [entry] };
            }}
            onDone={done}
          >
            <Unopened texts={unopened} />
            <SigningFields keys={keys ?? []} />
          </Action>
        </>
      }
    >
      {problem !== null && <ProblemNote problem={problem} />}
      {keys?.length === 0 && (
        <Note tone="quiet">
          <p>
            This browser has no signing key yet. Make one under <Link href="/reviewers">Reviewers</Link>; it never
            leaves the browser.
          </p>
        </Note>
      )}
      {results !== null && <AttestationResults results={results} />}
    </Section>
  );
}

export function SigningFields({ keys }: { readonly keys: readonly SigningKey[] }) {
  return (
    <>
      <Select
        label="Sign as"
        name="key"
        options={keys.map(({ publicKey, attester }) => [publicKey, `${attester} (${publicKey.slice(0, 8)}…)`])}
      />
      <TextField
        label="Valid until"
        name="validUntil"
        type="date"
        required
        defaultValue={utcDay(DEFAULT_DAYS)}
        min={utcDay(0)}
        hint="The last day on which it counts, in UTC."
      />
      <TextArea label="Note" name="note" rows={2} hint="Goes into the attestation, unsigned. May be left out." />
    </>
  );
}

export function claimOf(origin: string, skill: string, toolSha256: string, validUntil: string): AttestationClaim {
  return {
    // The gateway's own rows: it checks each of them again.
    origin: origin as CanonicalOrigin,
    skill,
    toolSha256: toolSha256 as Sha256Hex,
    signedOn: utcDay(0) as CalendarDate,
    validUntil: validUntil as CalendarDate,
  };
}

export function PasteAttestation({
  may,
  onDone,
}: {
  readonly may: boolean;
  readonly onDone: (answer: { readonly results: readonly AttestationResult[] }) => void;
}) {
  return (
    <Action<{ readonly results: readonly AttestationResult[] }>
      label="Paste an attestation"
      title="Store attestations"
      submit="Store"
      disabled={!may}
      request={(form) => ({
        method: "POST",
        path: "/attestations",
        creates: true,
        body: parsed(textOf(form, "entries")),
      })}
      onDone={onDone}
    >
      <TextArea
        label="Entry, or a list of entries"
        name="entries"
        class="code"
        rows={10}
        required
        spellcheck={false}
        hint="JSON as in a publisher's attestations.json. Each entry is judged alone."
      />
    </Action>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}`);
  }
}

/** What became of each entry that was stored. */
export function AttestationResults({ results }: { readonly results: readonly AttestationResult[] }) {
  return (
    <>
      {results.map((result) => (
        <Note
          key={result.index}
          tone={result.status === "refused" ? "bad" : result.standing === "attested" ? "ok" : "warn"}
        >
          <p role="status">
            {result.status === "refused" ? (
              <>
                Refused: <Visible text={result.message} /> <code>{result.code}</code>
              </>
            ) : (
              <>
                {result.isNew ? "Stored" : "It was stored before"}; it counts as{" "}
                <strong>{phrase(result.standing)}</strong>.
              </>
            )}
          </p>
        </Note>
      ))}
    </>
  );
}
