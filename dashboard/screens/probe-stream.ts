import { ApiProblem } from "../api/problem.ts";
import { type ApiRequest, send } from "../api/request.ts";
import type { Probe } from "../api/types.ts";
import { bytes } from "../ui/words.ts";

/** One line of a probe's progress. */
export interface ProbeStep {
  readonly key: number;
  readonly state: "ok" | "bad" | "none" | "busy";
  readonly text: string;
}

/** More steps than this are counted in one last line, not listed. */
const MAX_STEPS = 2_000;

/** The request of a probe whose progress is told. */
export function probeRequest(originId: string): ApiRequest {
  return { method: "POST", path: `/origins/${originId}/probe`, accept: "text/event-stream, application/json" };
}

/** Probes an origin and tells each fetch and hash as it happens; a step whose key was told before takes its place. @throws ApiProblem. */
export async function probeLive(originId: string, onStep: (step: ProbeStep) => void): Promise<Probe> {
  const answer = await send(probeRequest(originId));
  if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream")) return (await answer.json()) as Probe;
  let key = 0;
  for await (const { event, data } of readEvents(answer)) {
    if (event === "result") return data as unknown as Probe;
    if (event === "problem") throw new ApiProblem(Number(data.status ?? 0), data);
    if (key < MAX_STEPS) onStep({ key, ...describe(event, data) });
    else onStep({ key: MAX_STEPS, state: "busy", text: `and ${key - MAX_STEPS + 1} more` });
    key++;
  }
  throw new ApiProblem(0, { code: "unreachable", detail: "The probe broke off before it ended. Probe again." });
}

/** What a publisher need not have. */
const OPTIONAL = /\/\.well-known\/agent-skills\/(?:index|attestations)\.json$/;

type EventData = Readonly<Record<string, unknown>>;

function describe(event: string, data: EventData): Omit<ProbeStep, "key"> {
  if (event === "fetch") {
    const { url, status, bytes: size, ms } = data;
    const isGood = typeof status === "number" && status < 400;
    const facts = [
      typeof status === "number" && status > 0 ? String(status) : "no answer",
      typeof size === "number" ? bytes(size) : "",
      typeof ms === "number" ? `${Math.round(ms)} ms` : "",
    ].filter((fact) => fact !== "");
    if (status === 404 && OPTIONAL.test(String(url))) {
      return { state: "none", text: `${url}: ${facts.join(", ")}; it may be left out` };
    }
    return { state: isGood ? "ok" : "bad", text: `${url}: ${facts.join(", ")}` };
  }
  if (event === "hash") {
    const { scope, name, file, ok, expected, actual } = data;
    const skill = typeof scope === "string" && scope !== "" ? `${scope}__${name}` : String(name);
    const what = typeof file === "string" ? `${skill}, ${file}` : skill;
    return ok === true
      ? { state: "ok", text: `${what}: the bytes have the declared hash` }
      : { state: "bad", text: `${what}: declared ${expected}, received ${actual}` };
  }
  if (event === "rejected") return { state: "bad", text: `${data.name}: ${data.message ?? data.code}` };
  return { state: "busy", text: event };
}

/** The events of a `text/event-stream`. */
export async function* readEvents(
  answer: Response,
): AsyncGenerator<{ readonly event: string; readonly data: EventData }> {
  const decoder = new TextDecoder();
  let rest = "";
  const reader = answer.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      rest = rest.replaceAll("\r\n", "\n");
      for (let end = rest.indexOf("\n\n"); end !== -1; end = rest.indexOf("\n\n")) {
        const event = parseEvent(rest.slice(0, end));
        rest = rest.slice(end + 2);
        if (event !== null) yield event;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel();
  }
}

function parseEvent(block: string): { readonly event: string; readonly data: EventData } | null {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (data.length === 0) return null;
  try {
    const parsed: unknown = JSON.parse(data.join("\n"));
    return { event, data: typeof parsed === "object" && parsed !== null ? (parsed as EventData) : {} };
  } catch {
    return null;
  }
}
