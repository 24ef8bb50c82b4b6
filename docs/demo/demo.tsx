import { useEffect, useRef, useState } from "preact/hooks";
import { visibleParts } from "../../dashboard/text/visible.tsx";
import { TextField, textOf } from "../../dashboard/ui/form.tsx";
import { connectStaticSkills, type LogLine, logLines, type StaticSkills } from "../../src/browser/web.ts";
import { ToolCard } from "./tool-card.tsx";

/** Lines of the log that are kept. */
const MAX_LINES = 2_000;

type Connection =
  | { readonly state: "none" }
  | { readonly state: "connecting" }
  | { readonly state: "connected"; readonly skills: StaticSkills }
  | { readonly state: "failed"; readonly reason: string };

/** Connects to any origin that lets pages read it, shows how its skills verified, and calls them. */
export function Demo() {
  const [connection, setConnection] = useState<Connection>({ state: "none" });
  const [log, setLog] = useState<readonly LogLine[]>([]);
  const current = useRef<AbortController | null>(null);

  const connect = async (origin: string) => {
    current.current?.abort();
    const controller = new AbortController();
    current.current = controller;
    if (connection.state === "connected") connection.skills.dispose();
    setLog([]);
    setConnection({ state: "connecting" });
    // What an earlier connection still tells is nobody's any more.
    const isCurrent = () => current.current === controller;
    try {
      const skills = await connectStaticSkills(origin, {
        signal: controller.signal,
        onEvent: (event) => isCurrent() && setLog((lines) => [...lines, ...logLines(event)].slice(-MAX_LINES)),
      });
      if (isCurrent()) setConnection({ state: "connected", skills });
      else skills.dispose();
    } catch (error) {
      if (isCurrent())
        setConnection({ state: "failed", reason: error instanceof Error ? error.message : String(error) });
    }
  };

  const asked = new URLSearchParams(location.search).get("origin") ?? "";
  useEffect(() => {
    if (asked !== "") void connect(asked);
  }, []);

  return (
    <div class="demo">
      <header>
        <h1>Skillgate demo</h1>
        <ThemeButton />
      </header>
      <main>
        <p>
          The skills of a static site, discovered, verified byte for byte and run in a sandbox in this page. Nothing but
          the site is asked, and it must let pages of other origins read it (CORS).
        </p>
        <form
          class="connect"
          onSubmit={(event) => {
            event.preventDefault();
            void connect(textOf(new FormData(event.currentTarget), "origin").trim());
          }}
        >
          <TextField
            name="origin"
            label="Origin"
            placeholder="https://example.github.io/site"
            inputMode="url"
            defaultValue={asked}
            required
          />
          <button type="submit" class="button primary">
            Connect
          </button>
        </form>
        <p role="status" class="state">
          {stateOf(connection)}
        </p>
        {connection.state === "failed" && (
          <p role="alert" class="note bad">
            {visibleParts(connection.reason)}
          </p>
        )}
        {connection.state === "connected" && <Tools skills={connection.skills} />}
        {log.length > 0 && <Log lines={log} />}
      </main>
    </div>
  );
}

function stateOf(connection: Connection): string {
  switch (connection.state) {
    case "none":
      return "";
    case "connecting":
      return "Connecting…";
    case "failed":
      return "Not connected.";
    case "connected": {
      const { length } = connection.skills.tools;
      return `Connected: ${length} verified ${length === 1 ? "tool" : "tools"}, ${connection.skills.rejected.length} refused.`;
    }
  }
}

function Tools({ skills }: { readonly skills: StaticSkills }) {
  const { recipes } = skills;
  return (
    <section aria-labelledby="tools">
      <h2 id="tools">Tools</h2>
      {skills.tools.map((tool) => (
        <ToolCard
          key={tool.name}
          tool={tool}
          recipe={Object.hasOwn(recipes, tool.name) ? recipes[tool.name] : undefined}
          call={(args) => skills.callTool(tool.name, args)}
        />
      ))}
    </section>
  );
}

const SIGNS = { info: "·", good: "✓", bad: "✗" } as const;
const WORDS = { info: "", good: "good: ", bad: "bad: " } as const;

function Log({ lines }: { readonly lines: readonly LogLine[] }) {
  return (
    <section aria-labelledby="log">
      <h2 id="log">Verification log</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
      <ol class="log" tabIndex={0} aria-live="polite" aria-labelledby="log">
        {lines.map(({ level, text }, index) => (
          <li key={index} class={level}>
            <span aria-hidden="true">{SIGNS[level]} </span>
            <span class="unseen">{WORDS[level]}</span>
            {visibleParts(text)}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Kept for as long as the page is open: a page in a sandbox has no storage. */
function ThemeButton() {
  const [isDark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  const toggle = () => {
    document.documentElement.dataset.theme = isDark ? "light" : "dark";
    setDark(!isDark);
  };
  return (
    <button type="button" class="button small" onClick={toggle}>
      {isDark ? "Light colours" : "Dark colours"}
    </button>
  );
}
