import { useEffect, useRef, useState } from "preact/hooks";
import { type Exchange, exchange, type McpTool, messageOf, refusalOf } from "../api/mcp.ts";
import { type ApiProblem, toProblem } from "../api/problem.ts";
import { type ApiRequest, change } from "../api/request.ts";
import { useMay } from "../session.tsx";
import { Source } from "../text/source.tsx";
import { jsonText, textOfValue } from "../text/value.ts";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { SearchField, TextArea, textOf } from "../ui/form.tsx";
import { Badge, Empty, Note, ProblemNote, Screen, Section } from "../ui/parts.tsx";
import { count } from "../ui/words.ts";
import { ExchangeView, SHOWN_MESSAGE } from "./inspector-messages.tsx";
import { ClientPicker, OriginPicker } from "./pickers.tsx";
import { argumentsOf, hasForm, SchemaFields } from "./schema-form.tsx";

interface Inspection {
  readonly number: number;
  /** Its address. */
  readonly origin: string;
  readonly token: string;
  readonly expiresAt: number;
}

const MAX_TOOLS = 10_000;
const SHOWN_TOOLS = 200;
const MAX_EXCHANGES = 30;

function inspectionRequest(clientId: string): ApiRequest {
  return { method: "POST", path: `/clients/${clientId}/inspection-tokens` };
}

/** Calling a tool as a client would, through the same door, and seeing all of it. */
export function InspectorScreen() {
  const isAdmin = useMay("admin");
  const [clientId, setClient] = useState("");
  const [origin, setOrigin] = useState("");
  const [inspection, setInspection] = useState<Inspection | null>(null);
  const [tools, setTools] = useState<readonly McpTool[] | null>(null);
  const [tool, setTool] = useState<McpTool | null>(null);
  const [exchanges, setExchanges] = useState<readonly Exchange[]>([]);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isBusy, setBusy] = useState(false);

  // What comes back for an inspection that is over must not be shown under another client's or origin's name.
  const latest = useRef(0);

  const ask = async (at: Inspection, method: string, params: object) => {
    const done = await exchange(at.origin, at.token, method, params);
    if (at.number !== latest.current) throw new Error("This inspection is over.");
    setExchanges((before) => [done, ...before].slice(0, MAX_EXCHANGES));
    const refusal = refusalOf(done);
    if (refusal !== null) throw refusal;
    return messageOf(done);
  };
  const list = async (at: Inspection) => {
    const found: McpTool[] = [];
    let cursor: unknown;
    do {
      const message = await ask(at, "tools/list", cursor === undefined ? {} : { cursor });
      const result = (message?.result ?? {}) as { tools?: readonly McpTool[]; nextCursor?: unknown };
      if (!Array.isArray(result.tools)) throw new Error("The answer of tools/list has no list of tools.");
      found.push(...result.tools.filter(({ name }) => typeof name === "string"));
      cursor = result.nextCursor;
    } while (typeof cursor === "string" && found.length < MAX_TOOLS);
    setTools(found);
  };
  const end = () => {
    latest.current += 1;
    setBusy(false);
    setInspection(null);
    setProblem(null);
    setTools(null);
    setTool(null);
    setExchanges([]);
  };
  // What is on the screen is of the pair that it was begun for.
  const chooseClient = (id: string) => {
    if (id !== clientId) end();
    setClient(id);
  };
  const chooseOrigin = (address: string) => {
    if (address !== origin) end();
    setOrigin(address);
  };
  const begin = async (event: SubmitEvent) => {
    event.preventDefault();
    end();
    setBusy(true);
    const number = latest.current;
    try {
      const { token, expiresAt } = await change<{ token: string; expiresAt: number }>(inspectionRequest(clientId));
      if (number !== latest.current) return;
      const at = { number, origin, token, expiresAt };
      setInspection(at);
      await list(at);
    } catch (error) {
      if (number !== latest.current) return;
      setProblem(toProblem(error));
    }
    setBusy(false);
  };
  return (
    <Screen
      title="Inspector"
      lead="Lists and calls the tools of an origin as one client would, through the real /mcp endpoint. The console gets a token of that client for five minutes; the audit log says so."
    >
      <form class="card" onSubmit={begin}>
        <div class="inline">
          <ClientPicker label="As the client" name="client" required onChoose={chooseClient} />
          <OriginPicker
            label="At the origin"
            name="origin"
            status="active"
            by="origin"
            required
            onChoose={chooseOrigin}
          />
          {clientId !== "" && <CurlOf request={() => inspectionRequest(clientId)} />}
          <button
            type="submit"
            class="button primary"
            disabled={isBusy || !isAdmin || clientId === "" || origin === ""}
          >
            {isBusy ? "Asking…" : inspection === null ? "Begin" : "Begin anew"}
          </button>
        </div>
        {!isAdmin && <p class="hint">Only an admin may take a client's part.</p>}
        {inspection !== null && <Remaining until={inspection.expiresAt} />}
      </form>
      {problem !== null && <ProblemNote problem={problem} />}
      {inspection !== null && tools !== null && (
        <div class="review">
          <ToolList tools={tools} chosen={tool} choose={setTool} />
          {tool === null ? (
            <Empty title={tools.length === 0 ? "This client sees no tool here." : "Choose a tool."} />
          ) : (
            <ToolCall
              key={tool.name}
              tool={tool}
              call={(args) => ask(inspection, "tools/call", { name: tool.name, arguments: args })}
            />
          )}
        </div>
      )}
      {exchanges.length > 0 && (
        <Section title="Messages" hint="Both ways, newest first, as they went over the wire.">
          {exchanges.map((one) => (
            <ExchangeView key={one.key} exchange={one} />
          ))}
        </Section>
      )}
    </Screen>
  );
}

const TICK_MS = 1_000;

function Remaining({ until }: { readonly until: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  if (seconds === 0) return <Note tone="warn">The token has ended. Begin anew to go on.</Note>;
  return (
    <p class="hint">
      The token ends in {Math.floor(seconds / 60)}:{String(seconds % 60).padStart(2, "0")}.
    </p>
  );
}

function ToolList({
  tools,
  chosen,
  choose,
}: {
  readonly tools: readonly McpTool[];
  readonly chosen: McpTool | null;
  readonly choose: (tool: McpTool) => void;
}) {
  const [q, setQ] = useState("");
  const fitting = tools.filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()));
  return (
    <div class="section">
      <SearchField
        label={count(tools.length, "tool")}
        name="tool-filter"
        placeholder="Name contains"
        value={q}
        onSearch={setQ}
      />
      <ul class="choices" aria-label="Tools">
        {fitting.slice(0, SHOWN_TOOLS).map((tool) => (
          <li key={tool.name}>
            <button type="button" aria-pressed={tool === chosen} onClick={() => choose(tool)}>
              <Visible text={tool.name} most={120} />
            </button>
          </li>
        ))}
      </ul>
      {fitting.length > SHOWN_TOOLS && (
        <p class="hint">
          The first {SHOWN_TOOLS} of {count(fitting.length, "tool")}: filter to see others.
        </p>
      )}
    </div>
  );
}

type Message = Readonly<Record<string, unknown>> | undefined;

function ToolCall({
  tool,
  call,
}: {
  readonly tool: McpTool;
  readonly call: (args: Readonly<Record<string, unknown>>) => Promise<Message>;
}) {
  const [asJson, setAsJson] = useState(!hasForm(tool.inputSchema));
  const [message, setMessage] = useState<Message>(undefined);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setProblem(null);
    setMessage(undefined);
    try {
      const args = asJson ? JSON.parse(textOf(form, "arguments") || "{}") : argumentsOf(tool.inputSchema, form);
      setMessage(await call(args));
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(false);
  };
  return (
    <div class="review-body">
      <form class="card" onSubmit={run}>
        <h2>
          <Visible text={tool.name} />
        </h2>
        {tool.description !== undefined && (
          <p>
            <Visible text={textOfValue(tool.description)} most={600} />
          </p>
        )}
        {asJson ? (
          <TextArea
            label="Arguments"
            name="arguments"
            class="code"
            rows={8}
            defaultValue="{}"
            spellcheck={false}
            hint="A JSON object."
          />
        ) : (
          <SchemaFields schema={tool.inputSchema} />
        )}
        {problem !== null && <ProblemNote problem={problem} />}
        <div class="dialog-actions">
          {hasForm(tool.inputSchema) && (
            <button type="button" class="button quiet" onClick={() => setAsJson(!asJson)}>
              {asJson ? "Fill in a form" : "Write JSON"}
            </button>
          )}
          <span class="spring" />
          <button type="submit" class="button primary" disabled={isBusy}>
            {isBusy ? "Calling…" : "Call"}
          </button>
        </div>
      </form>
      <div role="status">{message !== undefined && <Result message={message} />}</div>
      <details>
        <summary>Schema</summary>
        <Source text={jsonText(tool.inputSchema ?? {})} label="Input schema" language="javascript" />
      </details>
    </div>
  );
}

function Result({ message }: { readonly message: Readonly<Record<string, unknown>> }) {
  const result = (message.result ?? {}) as { isError?: boolean; content?: unknown };
  const content = Array.isArray(result.content) ? result.content : [];
  return (
    <div class="card">
      <h3>
        Result <Badge tone={result.isError ? "bad" : "ok"}>{result.isError ? "tool error" : "ok"}</Badge>
      </h3>
      {content.map((part: { type?: unknown; text?: unknown }, index) => (
        <pre key={index} class="box" tabIndex={0} aria-label={`Part ${index + 1} of the result`} role="region">
          <Visible text={part?.type === "text" ? textOfValue(part.text) : jsonText(part)} most={SHOWN_MESSAGE} />
        </pre>
      ))}
    </div>
  );
}
