import { useRef, useState } from "preact/hooks";
import { type ApiProblem, toProblem } from "../api/problem.ts";
import { useQuery } from "../api/query.ts";
import { announceChange } from "../api/request.ts";
import type { Origin, Probe, Release, Session, SkillVersion } from "../api/types.ts";
import { Link } from "../router.tsx";
import { useMay, useSession } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { Check } from "../ui/form.tsx";
import { Loaded, Moment, Note, ProblemNote, Section } from "../ui/parts.tsx";
import { count, publicName } from "../ui/words.ts";
import { useCurrentVersions } from "./current-versions.ts";
import { isToDecide, reviewPath } from "./origin.tsx";
import { attestedToday, probeOf, probeToday } from "./origin-facts.ts";
import { ProbeResult } from "./probe-result.tsx";
import { type ProbeStep, probeLive, probeRequest } from "./probe-stream.ts";

/** The last probe's result by origin, as long as one is signed in: the gateway keeps what was seen, not what was said. */
const lastProbes = new WeakMap<Session, Map<string, Probe>>();

function probesOf(session: Session): Map<string, Probe> {
  const probes = lastProbes.get(session) ?? new Map<string, Probe>();
  lastProbes.set(session, probes);
  return probes;
}

/** From proposal to service: what is done, what comes next, and the button for it. */
export function OriginFlow({ origin }: { readonly origin: Origin }) {
  const versions = useCurrentVersions(origin.id, origin.probedAt);
  const release = useQuery<Release>(`/origins/${origin.id}/release`);
  const probes = probesOf(useSession().session);
  const [lastProbe, setProbe] = useState<Probe | null>(probes.get(origin.id) ?? null);
  const [steps, setSteps] = useState<readonly ProbeStep[]>([]);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isProbing, setProbing] = useState(false);
  const collected = useRef<ProbeStep[]>([]);
  const mayPropose = useMay("reviewer");

  const runProbe = async () => {
    setProbing(true);
    setProblem(null);
    collected.current = [];
    setSteps([]);
    try {
      const result = await probeLive(origin.id, (step) => {
        collected.current[step.key] = step;
        setSteps([...collected.current]);
      });
      probes.set(origin.id, result);
      setProbe(result);
    } catch (error) {
      setProblem(toProblem(error));
    }
    setProbing(false);
    announceChange();
  };

  if (origin.status === "revoked")
    return <Note tone="bad">This origin is revoked for ever; nothing can be done with it.</Note>;
  return (
    <Loaded query={versions}>
      {(current) => {
        const waiting = current.filter(isToDecide);
        const attested = attestedToday(current, release.data);
        const probe = lastProbe && probeToday(lastProbe, origin.probedAt, current, release.data);
        return (
          <>
            <Steps origin={origin} current={current} waiting={waiting.length} attested={attested} />
            <Section
              title="Probe"
              hint="Reads the site now, whatever is cached, and records the versions it finds. Nothing is approved by it."
              actions={
                <>
                  <CurlOf request={() => probeRequest(origin.id)} />
                  <button
                    type="button"
                    class={`button ${origin.probedAt === null ? "primary" : ""}`}
                    disabled={isProbing || !mayPropose}
                    onClick={runProbe}
                  >
                    {isProbing ? "Probing…" : origin.probedAt === null ? "Probe now" : "Probe again"}
                  </button>
                </>
              }
            >
              {problem !== null && <ProblemNote problem={problem} retry={runProbe} />}
              {steps.length > 0 && <Progress steps={steps} isRunning={isProbing} />}
              {probe !== null && !isProbing && <ProbeResult origin={origin} probe={probe} />}
              {probe === null && !isProbing && steps.length === 0 && (
                <p class="quiet">
                  {origin.probedAt === null ? (
                    "It has not been probed yet."
                  ) : (
                    <>
                      Probed <Moment at={origin.probedAt} />: {count(current.length, "skill")}. Probe again to see what
                      was rejected and who vouches for what.
                    </>
                  )}
                </p>
              )}
            </Section>
            <ReviewStep origin={origin} current={current} waiting={waiting} />
            <Activation
              origin={origin}
              current={current}
              waiting={waiting}
              probedAt={probeOf(current, versions.isCurrent ? origin.probedAt : null)}
            />
          </>
        );
      }}
    </Loaded>
  );
}

function Steps({
  origin,
  current,
  waiting,
  attested,
}: {
  readonly origin: Origin;
  readonly current: readonly SkillVersion[];
  readonly waiting: number;
  readonly attested: number | null;
}) {
  const isProbed = origin.probedAt !== null;
  // A probe that finds no tool succeeds of a publisher of Agent Skills alone.
  const hasNone = isProbed && current.length === 0;
  const isReviewed = isProbed && waiting === 0;
  const isActive = origin.status === "active";
  const list = [
    { name: "Propose", isDone: true, about: "The address is known." },
    { name: "Probe", isDone: isProbed, about: isProbed ? count(current.length, "skill") : "Read what it publishes." },
    {
      name: "Review",
      isDone: isReviewed,
      about: waiting > 0 ? `${count(waiting, "version")} to decide` : hasNone ? "No code." : "Read the code.",
    },
    {
      name: "Attest",
      isDone: attested !== null && attested > 0 && attested === current.length,
      about:
        attested !== null
          ? `${attested} of ${current.length} attested`
          : hasNone
            ? "No code."
            : origin.attestationMode === "enforcing"
              ? "Needed in this mode."
              : "Wanted, not needed.",
    },
    { name: "Activate", isDone: isActive, about: isActive ? "In service." : `It is ${origin.status}.` },
  ];
  const next = isActive && isReviewed ? -1 : list.findIndex(({ isDone, name }) => !isDone && name !== "Attest");
  return (
    <ol class="steps" aria-label="The way into service">
      {list.map(({ name, isDone, about }, index) => (
        <li
          key={name}
          class={index === next ? "current" : isDone ? "done" : ""}
          aria-current={index === next ? "step" : undefined}
        >
          <strong>
            <span aria-hidden="true">{isDone ? "✓" : index + 1}</span> {name}
            <span class="unseen">{isDone ? ", done" : index === next ? ", next" : ""}</span>
          </strong>
          <span>{about}</span>
        </li>
      ))}
    </ol>
  );
}

function Progress({ steps, isRunning }: { readonly steps: readonly ProbeStep[]; readonly isRunning: boolean }) {
  const marks = { ok: "✓", bad: "✗", none: "–", busy: "…" } as const;
  return (
    <>
      <p class="unseen" role="status">
        {isRunning ? `${steps.length} steps so far` : "The probe has ended"}
      </p>
      <ol class="progress" tabIndex={0} aria-label="What the probe did">
        {steps.map((step) => (
          <li key={step.key}>
            <span aria-hidden="true">{marks[step.state]}</span>
            <span>
              <Visible text={step.text} most={400} />
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

function ReviewStep({
  origin,
  current,
  waiting,
}: {
  readonly origin: Origin;
  readonly current: readonly SkillVersion[];
  readonly waiting: readonly SkillVersion[];
}) {
  const [first] = waiting.length > 0 ? waiting : current;
  if (first === undefined) return null;
  return (
    <Section
      title="Review and attest"
      actions={
        <Link class={`button ${waiting.length > 0 ? "primary" : ""}`} href={reviewPath(origin.id, first)}>
          {waiting.length > 0 ? `Review ${count(waiting.length, "version")}` : "Read the code"}
        </Link>
      }
    >
      <p class="quiet">
        {waiting.length > 0
          ? "Read each version, approve or reject it, and sign it if you are a reviewer. Clients do not get a version that waits unless the origin's setting says so."
          : "Everything that the last probe found is decided."}
      </p>
    </Section>
  );
}

function Activation({
  origin,
  current,
  waiting,
  probedAt,
}: {
  readonly origin: Origin;
  readonly current: readonly SkillVersion[];
  readonly waiting: readonly SkillVersion[];
  /** Of the probe that saw them: the origin is read apart from its versions, and a probe between the two must not be activated under the older one's list. */
  readonly probedAt: number | null;
}) {
  const changed = waiting.filter(({ changedSinceApproval }) => changedSinceApproval);
  const fresh = waiting.length - changed.length;
  const isAdmin = useMay("admin");
  if (origin.status === "active") {
    return (
      <Section title="In service">
        <p class="quiet">
          Clients that are granted this origin can call it. It is suspended or revoked under{" "}
          <Link href={`/origins/${origin.id}/settings`}>Settings</Link>.
        </p>
      </Section>
    );
  }
  return (
    <Section
      title="Activate"
      actions={
        <Action
          label="Activate"
          title={`Activate ${origin.origin}?`}
          submit="Activate"
          tone={waiting.length === 0 && probedAt !== null ? "primary" : "plain"}
          disabled={!isAdmin || probedAt === null}
          request={() => ({
            method: "POST",
            path: `/origins/${origin.id}/activate`,
            unchanged: origin,
            body: { probedAt },
          })}
        >
          {current.length === 0 ? (
            <p>The last probe found no tool. Activation lets clients read the origin's Agent Skills.</p>
          ) : (
            <p>
              Activation approves the {count(current.length, "version")} of the last probe (but those rejected), and
              lets clients call them.
            </p>
          )}
          {waiting.length > 0 && (
            <>
              <Note tone="warn">
                {fresh > 0 && (
                  <p>
                    {count(fresh, "version")} {fresh === 1 ? "waits" : "wait"} for a decision: activating approves{" "}
                    {fresh === 1 ? "it" : "them"} too.
                  </p>
                )}
                {changed.length > 0 && (
                  <>
                    <p>
                      {count(changed.length, "approved version")} changed since: activating takes the description,
                      version, recipe and definition that the publisher has now.
                    </p>
                    <ul>
                      {changed.map((version) => (
                        <li key={version.toolSha256 + publicName(version)}>
                          <Visible text={publicName(version)} /> <code>{version.toolSha256.slice(0, 8)}</code>
                        </li>
                      ))}
                    </ul>
                  </>
                )}
              </Note>
              <Check label="I have read them, or trust who has" name="read" required />
            </>
          )}
        </Action>
      }
    >
      <p class="quiet">
        {origin.probedAt === null
          ? "Probe it first."
          : current.length === 0
            ? "The last probe found no tool: there are its Agent Skills alone."
            : "What is activated is exactly what the last probe found."}
      </p>
    </Section>
  );
}
