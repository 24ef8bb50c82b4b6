import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { toProblem } from "./api/problem.ts";
import { LiveUpdates } from "./live.tsx";
import { findScreen, Link, type RouteTable, usePlace } from "./router.tsx";
import { AttestationsScreen } from "./screens/attestations.tsx";
import { AuditEntryScreen, AuditScreen } from "./screens/audit.tsx";
import { ClientScreen } from "./screens/client.tsx";
import { ClientsScreen } from "./screens/clients.tsx";
import { InspectorScreen } from "./screens/inspector.tsx";
import { OperatorsScreen } from "./screens/operators.tsx";
import { OriginScreen } from "./screens/origin.tsx";
import { OriginsScreen } from "./screens/origins.tsx";
import { OverviewScreen } from "./screens/overview.tsx";
import { ReviewScreen } from "./screens/review.tsx";
import { ReviewQueueScreen } from "./screens/review-queue.tsx";
import { ReviewersScreen } from "./screens/reviewers.tsx";
import { SiteScreen } from "./screens/site.tsx";
import { SiteVersionScreen } from "./screens/site-version.tsx";
import { SitesScreen } from "./screens/sites.tsx";
import { SystemScreen } from "./screens/system.tsx";
import { SessionGate, useSession } from "./session.tsx";
import { SignOut } from "./sign-out.tsx";
import { Visible } from "./text/visible.tsx";
import { applyTheme, readTheme, type Theme } from "./theme.ts";
import { Empty, ProblemNote, Screen } from "./ui/parts.tsx";

const PLACES = [
  { href: "/", label: "Overview" },
  { href: "/origins", label: "Origins" },
  { href: "/review", label: "Review" },
  { href: "/attestations", label: "Attestations" },
  { href: "/reviewers", label: "Reviewers" },
  { href: "/sites", label: "Sites" },
  { href: "/clients", label: "Clients" },
  { href: "/inspector", label: "Inspector" },
  { href: "/audit", label: "Audit" },
  { href: "/operators", label: "Operators" },
  { href: "/system", label: "System" },
] as const;

const SCREENS: RouteTable = {
  "/": () => <OverviewScreen />,
  "/origins": () => <OriginsScreen />,
  "/origins/:id/review": ({ id = "" }) => <ReviewScreen key={id} id={id} />,
  "/origins/:id/:tab?": ({ id = "", tab = "flow" }) => <OriginScreen key={id} id={id} tab={tab} />,
  "/review": () => <ReviewQueueScreen />,
  "/attestations/:tab?": ({ tab = "stored" }) => <AttestationsScreen key={tab} tab={tab} />,
  "/reviewers": () => <ReviewersScreen />,
  "/sites": () => <SitesScreen />,
  "/sites/:id/versions/:version": ({ id = "", version = "" }) => (
    <SiteVersionScreen key={`${id} ${version}`} id={id} version={version} />
  ),
  "/sites/:id/:tab?": ({ id = "", tab = "published" }) => <SiteScreen key={id} id={id} tab={tab} />,
  "/clients": () => <ClientsScreen />,
  "/clients/:id/:tab?": ({ id = "", tab = "tokens" }) => <ClientScreen key={id} id={id} tab={tab} />,
  "/inspector": () => <InspectorScreen />,
  "/audit": () => <AuditScreen />,
  "/audit/:seq": ({ seq = "" }) => <AuditEntryScreen key={seq} seq={seq} />,
  "/operators": () => <OperatorsScreen />,
  "/system": () => <SystemScreen />,
};

export function App() {
  return (
    <SessionGate>
      <Shell />
    </SessionGate>
  );
}

function Shell() {
  const { path } = usePlace();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="side">
        <div class="brand">
          <img src="/admin/icon.svg" alt="" width="28" height="28" />
          <span>Skillgate</span>
          <button
            type="button"
            class="button small menu"
            aria-expanded={isOpen}
            aria-controls="menu"
            onClick={() => setOpen(!isOpen)}
          >
            Menu
          </button>
        </div>
        <div id="menu" class={isOpen ? "menu-body open" : "menu-body"}>
          <nav aria-label="Console">
            {PLACES.map(({ href, label }) => (
              <Link key={href} href={href} aria-current={isAt(path, href) ? "page" : undefined}>
                {label}
              </Link>
            ))}
          </nav>
          <Account />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Guarded path={path}>{findScreen(SCREENS, path) ?? <NowhereScreen />}</Guarded>
      </main>
    </div>
  );
}

/** A fault of one screen leaves the rest of the console in use. */
function Guarded({ path, children }: { readonly path: string; readonly children: ComponentChildren }) {
  const [fault, retry] = useErrorBoundary((error) => console.error(error));
  useEffect(() => {
    if (fault !== undefined) retry();
  }, [path]);
  if (fault === undefined) return <>{children}</>;
  return (
    <Screen title="This screen cannot be shown">
      <ProblemNote problem={toProblem(fault)} retry={retry} />
    </Screen>
  );
}

function isAt(path: string, href: string): boolean {
  if (href === "/") return path === "/" || path === "";
  if (href === "/origins" && path.endsWith("/review")) return false;
  if (href === "/review" && /^\/origins\/[^/]+\/review$/.test(path)) return true;
  return path === href || path.startsWith(`${href}/`);
}

function Account() {
  const { session } = useSession();
  const [theme, setTheme] = useState<Theme>(readTheme());
  const choose = (next: Theme) => {
    applyTheme(next);
    setTheme(next);
  };
  return (
    <div class="account">
      <LiveUpdates />
      <p>
        <strong>
          <Visible text={session.operator.name} most={100} />
        </strong>
        <br />
        <span class="quiet">{session.operator.role}</span>
      </p>
      <label class="theme">
        <span>Theme</span>
        <select value={theme} onChange={(event) => choose(event.currentTarget.value as Theme)}>
          <option value="system">System</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
      <SignOut />
    </div>
  );
}

function NowhereScreen() {
  return (
    <Screen title="Nothing here">
      <Empty title="The console has no page at this address.">
        <Link href="/">Go to the overview</Link>
      </Empty>
    </Screen>
  );
}
