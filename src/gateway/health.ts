import type { Context } from "hono";
import { withDeadline } from "./deadline.ts";
import { type Env, readSettings } from "./env.ts";
import { ERRORS } from "./errors.ts";
import { describeFailure } from "./log.ts";
import type { GatewayContext } from "./request-context.ts";
import { sandboxFor } from "./sandbox.ts";

const PROBE_TIMEOUT_MS = 2_000;
/** Readiness is open to everybody, so a flood of questions must not become a flood of probes. */
const REMEMBER_MS = 1_000;

type Part = "settings" | "database" | "rate_limiter" | "origin_hub" | "sandbox";
type Readiness = Readonly<Record<Part, "ok" | "failed">>;

const POLL_MS = 20;

interface Memory {
  parts: Readiness | null;
  /** When `parts` were found, epoch milliseconds. */
  at: number;
  /** When the latest round of probes began. */
  startedAt: number;
}

const memories = new WeakMap<Env, Memory>();

/** `GET /healthz`: the process answers. Nothing else is looked at. */
export function healthz(c: Context<GatewayContext>): Response {
  return c.json({ status: "ok" }, 200, { "Cache-Control": "no-store" });
}

/** `GET /readyz`: whether a call could be served, part by part. 200 when all are, else 503; never says why, the log does. */
export async function readyz(c: Context<GatewayContext>): Promise<Response> {
  const parts = await readiness(c.env);
  const ready = Object.values(parts).every((state) => state === "ok");
  const headers = { "Cache-Control": "no-store", ...(ready ? {} : { "Retry-After": "5" }) };
  const settings = readSettings(c.env);
  if (!settings.ok) {
    c.get("log").code = "bad_setting";
    const message = settings.problems.map((problem) => problem.message).join(" ");
    return c.json({ error: "bad_setting", message, status: "not_ready", parts }, ERRORS.bad_setting.status, headers);
  }
  return c.json({ status: ready ? "ready" : "not_ready", parts }, ready ? 200 : 503, headers);
}

/** Whether each part could serve a call; asked again after a second at the earliest. */
export async function readiness(env: Env): Promise<Readiness> {
  const memory = memories.get(env) ?? { parts: null, at: 0, startedAt: 0 };
  memories.set(env, memory);
  // Waits by its own timer for the round another request began: the platform cancels whoever awaits another request's promise.
  for (;;) {
    if (memory.parts !== null && Math.abs(Date.now() - memory.at) < REMEMBER_MS) return memory.parts;
    if (Math.abs(Date.now() - memory.startedAt) > PROBE_TIMEOUT_MS) break;
    if (memory.at >= memory.startedAt) break;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  memory.startedAt = Date.now();
  const [settings, database, rate_limiter, origin_hub, sandbox] = await Promise.all([
    probe("settings", async () => requireSettings(env)),
    probe("database", () => env.DB.prepare("SELECT 1 FROM origins, clients, client_tokens LIMIT 1").all()),
    probe("rate_limiter", () => env.RATE_LIMITER.get(env.RATE_LIMITER.idFromName("readyz")).ping()),
    probe("origin_hub", () => env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName("readyz")).ping()),
    probe("sandbox", () => probeSandbox(env)),
  ]);
  const parts = { settings, database, rate_limiter, origin_hub, sandbox };
  memory.parts = parts;
  memory.at = Date.now();
  return parts;
}

async function probe(part: Part, work: () => Promise<unknown>): Promise<"ok" | "failed"> {
  try {
    await withDeadline(work(), PROBE_TIMEOUT_MS);
    return "ok";
  } catch (error) {
    console.warn(JSON.stringify({ event: "not_ready", part, error: describeFailure(error) }));
    return "failed";
  }
}

function requireSettings(env: Env) {
  const result = readSettings(env);
  if (!result.ok) throw new Error(result.problems[0].message);
  return result.settings;
}

async function probeSandbox(env: Env): Promise<void> {
  const program = { id: "readyz", source: "(input) => input + 1" };
  const outcome = await sandboxFor(requireSettings(env)).evaluate(program, 41);
  if (!outcome.ok || outcome.value !== 42) throw new Error("The sandbox gave a wrong answer.");
}
