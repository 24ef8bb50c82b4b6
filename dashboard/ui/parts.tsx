import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiProblem } from "../api/problem.ts";
import type { Query } from "../api/query.ts";
import type { SkillVersion } from "../api/types.ts";
import { Link } from "../router.tsx";
import { Visible } from "../text/visible.tsx";
import { exactMoment, relativeMoment } from "./words.ts";

/** A screen: its heading takes the focus when one arrives, so that a screen reader begins there. */
export function Screen({
  title,
  lead,
  actions,
  back,
  children,
}: {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly back?: { readonly href: string; readonly label: string };
  readonly children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Skillgate`;
  }, [title]);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  return (
    <>
      <header class="screen-head">
        {back !== undefined && (
          <Link class="back" href={back.href}>
            ← {back.label}
          </Link>
        )}
        <div class="screen-title">
          <h1 ref={heading} tabIndex={-1}>
            <Visible text={title} />
          </h1>
          {actions !== undefined && <div class="actions">{actions}</div>}
        </div>
        {lead !== undefined && <p class="lead">{lead}</p>}
      </header>
      {children}
    </>
  );
}

export function Section({
  title,
  hint,
  actions,
  children,
}: {
  readonly title: string;
  readonly hint?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="section">
      <div class="section-head">
        <h2>{title}</h2>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {hint !== undefined && <p class="hint">{hint}</p>}
      {children}
    </section>
  );
}

export type Tone = "ok" | "warn" | "bad" | "info" | "quiet";

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const TONES: Readonly<Record<string, Tone>> = {
  active: "ok",
  approved: "ok",
  attested: "ok",
  accepted: "ok",
  intact: "ok",
  ready: "ok",
  ok: "ok",
  served: "ok",
  current: "ok",
  pending: "info",
  waiting: "info",
  held: "warn",
  flagged: "warn",
  expired: "warn",
  retired: "warn",
  suspended: "warn",
  unattested: "warn",
  unwitnessed: "warn",
  stale: "warn",
  revoked: "bad",
  rejected: "bad",
  refused: "bad",
  invalid: "bad",
  broken: "bad",
  failing: "bad",
  failed: "bad",
  withheld: "bad",
  not_ready: "bad",
};

/** A state by its own word, in the colour that such states have everywhere. */
export function State({ of }: { readonly of: string }) {
  return <Badge tone={TONES[of] ?? "quiet"}>{of.replaceAll("_", " ")}</Badge>;
}

/** What was decided about a version, and whether its texts are still those that were decided about. */
export function VersionState({ of }: { readonly of: Pick<SkillVersion, "state" | "changedSinceApproval"> }) {
  return (
    <>
      <State of={of.state} />
      {of.changedSinceApproval && (
        <>
          {" "}
          <Badge tone="warn">changed</Badge>
        </>
      )}
    </>
  );
}

/** A moment as people say it; pointing at it, or asking for it, tells it exactly. */
export function Moment({ at, none = "never" }: { readonly at: number | null | undefined; readonly none?: string }) {
  if (at === null || at === undefined) return <span class="quiet">{none}</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={exactMoment(at)}>
      {relativeMoment(at, Date.now())}
    </time>
  );
}

const SHORT_HASH = 12;

/** The beginning of a hash, or of an id, with the whole of it to copy. */
export function Hash({ value, what = "hash" }: { readonly value: string; readonly what?: string }) {
  return (
    <span class="hash">
      <code title={value}>{value.slice(0, SHORT_HASH)}…</code>
      <Copy text={value} label={`Copy ${what}`} quiet />
    </span>
  );
}

/** How long a copy button says that it copied. */
const SAID_MS = 1_500;

export function Copy({
  text,
  label,
  quiet = false,
}: {
  readonly text: string | (() => string);
  readonly label: string;
  readonly quiet?: boolean;
}) {
  const [said, say] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      say("Copied");
    } catch {
      say("Not allowed");
    }
    setTimeout(() => say(""), SAID_MS);
  };
  return (
    <button type="button" class={quiet ? "icon" : "button small"} onClick={copy} aria-label={quiet ? label : undefined}>
      {quiet ? <CopyIcon said={said} /> : said || label}
      <span class="unseen" role="status">
        {quiet ? said : ""}
      </span>
    </button>
  );
}

function CopyIcon({ said }: { readonly said: string }) {
  if (said !== "") return <span aria-hidden="true">{said === "Copied" ? "✓" : "×"}</span>;
  return (
    <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" fill="none" stroke="currentColor">
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.5v-.2A1.3 1.3 0 0 0 9.2 2H3.8A1.3 1.3 0 0 0 2.5 3.3v5.4A1.3 1.3 0 0 0 3.8 10H4" />
    </svg>
  );
}

export function Loading({ what = "Loading" }: { readonly what?: string }) {
  return (
    <div class="loading" role="status">
      <span class="unseen">{what}…</span>
      <span class="bar" aria-hidden="true" />
      <span class="bar" aria-hidden="true" />
      <span class="bar" aria-hidden="true" />
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}

/** What the gateway said when it refused. */
export function ProblemNote({ problem, retry }: { readonly problem: ApiProblem; readonly retry?: () => void }) {
  return (
    <div class="note bad" role="alert">
      <p>
        <Visible text={problem.message} />
      </p>
      {problem.errors.length > 0 && (
        <ul>
          {problem.errors.map(({ field, message }) => (
            <li key={field + message}>
              <code>{field}</code> {message !== problem.message && <Visible text={message} />}
            </li>
          ))}
        </ul>
      )}
      <p class="quiet">
        <code>{problem.code}</code>
        {problem.requestId !== null && <> · request {problem.requestId}</>}
      </p>
      {retry !== undefined && (
        <button type="button" class="button small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Note({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <div class={`note ${tone}`}>{children}</div>;
}

/** Shows what was read; while nothing is there yet, that it is being read; where reading failed, why. */
export function Loaded<T>({
  query,
  children,
}: {
  readonly query: Query<T>;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { data, problem, reload } = query;
  if (data === undefined) return problem === undefined ? <Loading /> : <ProblemNote problem={problem} retry={reload} />;
  return (
    <>
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {children(data)}
    </>
  );
}

/** Facts about one thing. */
export function Facts({ items }: { readonly items: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {items.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Parts of a screen that have addresses of their own. */
export function Tabs({
  label,
  tabs,
  current,
}: {
  readonly label: string;
  readonly tabs: readonly { readonly href: string; readonly id: string; readonly label: ComponentChildren }[];
  readonly current: string;
}) {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a phone the tabs are wider than the screen.
    const tab = nav.current?.querySelector<HTMLElement>("[aria-current=page]");
    if (nav.current === null || !tab) return;
    nav.current.scrollLeft = tab.offsetLeft - nav.current.offsetLeft - (nav.current.clientWidth - tab.offsetWidth) / 2;
  }, [current]);
  return (
    <nav ref={nav} class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link key={tab.id} href={tab.href} aria-current={tab.id === current ? "page" : undefined}>
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
