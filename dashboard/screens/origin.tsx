import { usePages, useQuery } from "../api/query.ts";
import type { Origin, SkillVersion, VerdictChange } from "../api/types.ts";
import { Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { Check, Select, TextArea, textOf } from "../ui/form.tsx";
import { Facts, Hash, Loaded, Moment, Note, Screen, Section, State, Tabs, VersionState } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { publicName } from "../ui/words.ts";
import { BlastRadius } from "./blast-radius.tsx";
import { listAddress } from "./filters.ts";
import { OperatorName } from "./operator-name.tsx";
import { OriginFlow } from "./origin-flow.tsx";
import { OriginRelease } from "./origin-release.tsx";

/** Where a version is reviewed. */
export function reviewPath(
  originId: string,
  { scope, name, toolSha256 }: Pick<SkillVersion, "scope" | "name" | "toolSha256">,
) {
  const query = new URLSearchParams({ name, sha: toolSha256, ...(scope === null ? {} : { scope }) });
  return `/origins/${originId}/review?${query}`;
}

/** Whether there is something to decide about a version, as `GET /skills?state=waiting` means it. */
export function isToDecide({ state, changedSinceApproval }: SkillVersion): boolean {
  return state === "waiting" || (state === "approved" && changedSinceApproval);
}

/** One publisher: the way from proposal to service, what it serves, and how it is taken out of service. */
export function OriginScreen({ id, tab }: { readonly id: string; readonly tab: string }) {
  const query = useQuery<Origin>(`/origins/${id}`);
  return (
    <Screen
      title={query.data?.origin ?? "Origin"}
      back={{ href: listAddress("/origins"), label: "Origins" }}
      actions={<CurlOf path={`/origins/${id}`} />}
    >
      <Loaded query={query}>
        {(origin) => (
          <>
            <Summary origin={origin} />
            <Tabs
              label="About this origin"
              current={tab}
              tabs={[
                { id: "flow", href: `/origins/${id}`, label: "Onboarding" },
                { id: "skills", href: `/origins/${id}/skills`, label: "Skill versions" },
                { id: "release", href: `/origins/${id}/release`, label: "Release" },
                { id: "verdicts", href: `/origins/${id}/verdicts`, label: "Verdicts" },
                { id: "settings", href: `/origins/${id}/settings`, label: "Settings" },
              ]}
            />
            <Tab origin={origin} tab={tab} />
          </>
        )}
      </Loaded>
    </Screen>
  );
}

function Tab({ origin, tab }: { readonly origin: Origin; readonly tab: string }) {
  if (tab === "skills") return <Skills origin={origin} />;
  if (tab === "release") return <OriginRelease origin={origin} />;
  if (tab === "verdicts") return <Verdicts origin={origin} />;
  if (tab === "settings") return <Settings origin={origin} />;
  return <OriginFlow origin={origin} />;
}

function Summary({ origin }: { readonly origin: Origin }) {
  return (
    <div class="card">
      <Facts
        items={[
          ["Status", <State of={origin.status} />],
          ["Attestations", origin.attestationMode ?? "gateway's mode"],
          ["Unapproved code", origin.pin],
          ["Proposed", <Moment at={origin.createdAt} />],
          ["Probed", <Moment at={origin.probedAt} />],
          ["Last called", <Moment at={origin.lastCalledAt} />],
        ]}
      />
    </div>
  );
}

function Skills({ origin }: { readonly origin: Origin }) {
  const query = usePages<SkillVersion>(`/origins/${origin.id}/skills`);
  const columns: readonly Column<SkillVersion>[] = [
    {
      head: "Skill",
      kind: "main",
      cell: (version) => (
        <>
          <Link href={reviewPath(origin.id, version)}>
            <Visible text={publicName(version)} />
          </Link>
          {version.description !== null && (
            <span class="under">
              <Visible text={version.description} most={160} />
            </span>
          )}
        </>
      ),
    },
    { head: "State", cell: (version) => <VersionState of={version} /> },
    { head: "Hash", cell: ({ toolSha256 }) => <Hash value={toolSha256} /> },
    {
      head: "Published",
      cell: ({ lastSeenAt }) => (lastSeenAt === origin.probedAt ? "now" : <span class="quiet">no longer</span>),
    },
    { head: "First seen", cell: ({ firstSeenAt }) => <Moment at={firstSeenAt} /> },
    {
      head: "Decided",
      cell: (version) =>
        version.state === "waiting" ? (
          <span class="quiet">not yet</span>
        ) : (
          <>
            <Moment at={version.approvedAt ?? version.rejectedAt} /> by{" "}
            <OperatorName id={version.approvedBy ?? version.rejectedBy ?? ""} />
          </>
        ),
    },
  ];
  return (
    <Section title="Skill versions" hint="Every version that a probe saw, by skill. Choose one to read it.">
      <PagedTable
        query={query}
        caption="Skill versions"
        columns={columns}
        keyOf={(version) => JSON.stringify([version.scope, version.name, version.toolSha256])}
        empty="No probe has seen a skill yet."
      />
    </Section>
  );
}

const VERDICT_COLUMNS: readonly Column<VerdictChange>[] = [
  { head: "Skill", kind: "main", cell: (change) => <Visible text={publicName(change)} /> },
  { head: "Verdict", cell: ({ verdict }) => <State of={verdict} /> },
  { head: "Hash", cell: ({ toolSha256 }) => <Hash value={toolSha256} /> },
  { head: "Noticed", cell: ({ at }) => <Moment at={at} /> },
];

function Verdicts({ origin }: { readonly origin: Origin }) {
  const query = usePages<VerdictChange>(`/origins/${origin.id}/verdicts`);
  return (
    <Section title="How verdicts changed" hint="A history for people. What decides is computed at every call.">
      <PagedTable
        query={query}
        caption="Changes of verdicts"
        columns={VERDICT_COLUMNS}
        keyOf={({ scope, name, toolSha256, at }) => JSON.stringify([scope, name, toolSha256, at])}
        empty="No verdict has changed yet."
      />
    </Section>
  );
}

function Settings({ origin }: { readonly origin: Origin }) {
  const isAdmin = useMay("admin");
  const isReviewer = useMay("reviewer");
  const isRevoked = origin.status === "revoked";
  return (
    <>
      <Section
        title="How it is served"
        actions={
          <Action
            label="Change"
            title="Change how this origin is served"
            submit="Save"
            disabled={isRevoked || !isAdmin}
            request={(form) => ({
              method: "PATCH",
              path: `/origins/${origin.id}`,
              unchanged: origin,
              body: {
                attestationMode: textOf(form, "attestationMode") || null,
                pin: textOf(form, "pin"),
                forwardTrace: form.get("forwardTrace") === "on",
                agentSkills: form.get("agentSkills") === "on",
                agentSkillsPointer: textOf(form, "agentSkillsPointer") || null,
              },
            })}
          >
            <Select
              label="Attestations"
              name="attestationMode"
              value={origin.attestationMode ?? ""}
              hint="enforcing: only what a registered reviewer vouches for is served. advisory: the verdict is shown."
              options={[
                ["", "gateway's mode: as its setting says"],
                ["off", "off"],
                ["advisory", "advisory"],
                ["enforcing", "enforcing"],
              ]}
            />
            <Select
              label="Unapproved code"
              name="pin"
              value={origin.pin}
              hint="hold: the approved version stays in service. warn: the new one is served and flagged. off: it is served."
              options={[
                ["hold", "hold"],
                ["warn", "warn"],
                ["off", "off"],
              ]}
            />
            <Check
              label="Tell this publisher the caller's traceparent"
              name="forwardTrace"
              defaultChecked={origin.forwardTrace}
            />
            <Check
              label="Serve the Agent Skills that its index.json names"
              name="agentSkills"
              defaultChecked={origin.agentSkills}
              hint="As MCP resources; it may then have no tool at all. Those of a site that this gateway hosts are served anyhow."
            />
            <Select
              label="Agent Skills in initialize"
              name="agentSkillsPointer"
              value={origin.agentSkillsPointer ?? ""}
              hint="How the manifest of its Agent Skills is named to clients."
              options={[
                ["", "as the client's revision of MCP wants it"],
                ["string", "string"],
                ["object", "object"],
                ["off", "off"],
              ]}
            />
          </Action>
        }
      >
        <div class="card">
          <Facts
            items={[
              ["Attestations", origin.attestationMode ?? "gateway's mode"],
              ["Unapproved code", origin.pin],
              ["Trace context", origin.forwardTrace ? "forwarded" : "not forwarded"],
              ["Agent Skills of its index", origin.agentSkills ? "served" : "not served"],
              ["Agent Skills in initialize", origin.agentSkillsPointer ?? "as the client's revision wants it"],
              ["Changed", <Moment at={origin.updatedAt} />],
            ]}
          />
        </div>
      </Section>
      <Section title="Take it out of service">
        {isRevoked ? (
          <Note tone="bad">This origin is revoked for ever.</Note>
        ) : (
          <div class="card">
            <p>
              A suspended origin answers nobody until it is activated again. A revoked one can never be activated,
              probed or registered again.
            </p>
            <div class="actions">
              <Action
                label="Suspend"
                title={`Suspend ${origin.origin}?`}
                submit="Suspend"
                tone="danger"
                disabled={origin.status !== "active" || !isReviewer}
                request={(form) => ({
                  method: "POST",
                  path: `/origins/${origin.id}/suspend`,
                  unchanged: origin,
                  body: textOf(form, "reason") === "" ? {} : { reason: textOf(form, "reason") },
                })}
              >
                <BlastRadius originId={origin.id} />
                <TextArea label="Reason" name="reason" hint="For other operators, in the audit log. May be left out." />
              </Action>
              <Action
                label="Revoke for ever"
                title={`Revoke ${origin.origin} for ever?`}
                submit="Revoke for ever"
                tone="danger"
                typed={origin.origin}
                disabled={!isAdmin}
                request={(form) => ({
                  method: "POST",
                  path: `/origins/${origin.id}/revoke`,
                  unchanged: origin,
                  body: { reason: textOf(form, "reason") },
                })}
              >
                <Note tone="bad">This cannot be taken back: the address can never be registered again.</Note>
                <BlastRadius originId={origin.id} />
                <TextArea label="Reason" name="reason" required hint="For other operators, in the audit log." />
              </Action>
            </div>
          </div>
        )}
      </Section>
    </>
  );
}
