import { useQuery } from "../api/query.ts";
import type { Attestation, AttestationResult, JudgedAttestation } from "../api/types.ts";
import { type SigningKey, signEntry } from "../signing-keys.ts";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf, Dialog } from "../ui/action.tsx";
import { TextArea, textOf } from "../ui/form.tsx";
import { Facts, Loaded, Note } from "../ui/parts.tsx";
import { phrase } from "../ui/words.ts";
import { OperatorName } from "./operator-name.tsx";
import { claimOf, SigningFields } from "./sign-panel.tsx";

/** Vouching for the same version anew. */
export function Renew({
  attestation,
  may,
  keys,
  onDone,
}: {
  readonly attestation: Attestation;
  readonly may: boolean;
  readonly keys: readonly SigningKey[];
  readonly onDone: (answer: { readonly results: readonly AttestationResult[] }) => void;
}) {
  return (
    <Action<{ readonly results: readonly AttestationResult[] }>
      label="Renew"
      title={`Sign ${attestation.skill} anew`}
      submit="Sign and store"
      small
      disabled={!may || keys.length === 0}
      request={async (form) => {
        const key = keys.find(({ publicKey }) => publicKey === textOf(form, "key"));
        if (key === undefined) throw new Error("Choose a key.");
        const { origin, skill, toolSha256 } = attestation;
        const claim = claimOf(origin, skill, toolSha256, textOf(form, "validUntil"));
        return {
          method: "POST",
          path: "/attestations",
          creates: true,
          body: [await signEntry(claim, key, textOf(form, "note") || null)],
        };
      }}
      onDone={onDone}
    >
      <p>
        You vouch again, from today, for the version <code>{attestation.toolSha256.slice(0, 12)}…</code> at{" "}
        <Visible text={attestation.origin} most={200} />.
      </p>
      <SigningFields keys={keys} />
    </Action>
  );
}

export function Revoke({ attestation, may }: { readonly attestation: Attestation; readonly may: boolean }) {
  return (
    <Action
      label="Revoke"
      title={`Revoke the attestation of ${attestation.skill}?`}
      submit="Revoke"
      tone="danger"
      small
      disabled={!may}
      request={(form) => ({
        method: "POST",
        path: `/attestations/${attestation.id}/revoke`,
        creates: true,
        body: { reason: textOf(form, "reason") },
      })}
    >
      <p>It counts for nothing from now on, wherever it comes from. An admin can lift the revocation.</p>
      <TextArea label="Reason" name="reason" required hint="For other operators, in the audit log." />
    </Action>
  );
}

/** How an attestation counts today, and why. */
export function Verification({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useQuery<JudgedAttestation>(`/attestations/${id}`);
  return (
    <Dialog title="How this attestation counts today" onClose={onClose}>
      <div class="section">
        <Loaded query={query}>
          {(judged) => (
            <>
              <Note tone={judged.standing === "attested" ? "ok" : "warn"}>
                <p>
                  It counts as <strong>{phrase(judged.standing)}</strong>.
                </p>
              </Note>
              <Facts
                items={[
                  ["Skill", <Visible text={judged.skill} />],
                  ["Reviewer", <Visible text={judged.attester} />],
                  ["Signed on", judged.signedOn],
                  ["Valid until", judged.validUntil],
                  ["Proof", judged.kind],
                  ["Stored by", <OperatorName id={judged.storedBy} />],
                ]}
              />
              <pre class="box" tabIndex={0}>
                <Visible text={JSON.stringify(judged.entry, null, 2)} most={20_000} />
              </pre>
            </>
          )}
        </Loaded>
        <div class="dialog-actions">
          <CurlOf path={`/attestations/${id}`} />
          <span class="spring" />
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}
