import type { Context } from "hono";
import type { Env, Settings } from "../env.ts";
import type { Acting, Registry } from "../registry/database.ts";

/** What the middleware of the admin API gives its routes. */
export interface AdminVariables {
  /** Set by the gateway for every request. */
  requestId: string;
  settings: Settings;
  registry: Registry;
  /** Who is signed in. */
  actor: string;
}

export type AdminEnv = { Bindings: Env; Variables: AdminVariables };
export type AdminContext = Context<AdminEnv>;

/** The mutation's author, request and moment. */
export function actingNow(c: AdminContext): Acting {
  return { actor: c.get("actor"), requestId: c.get("requestId"), now: Date.now() };
}
