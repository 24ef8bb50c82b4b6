import type { Context } from "hono";
import { forgetPolicy } from "../auth/policy.ts";
import type { Env } from "../env.ts";
import type { ChainHead } from "../registry/audit.ts";
import { noteRow as noteAuditRow } from "../registry/audit-witness.ts";
import type { Acting, Registry } from "../registry/database.ts";
import type { RequestVariables } from "../request-context.ts";
import type { SignedIn } from "./credentials.ts";

/** What the gateway gives every request, and what the admin API adds for its routes. */
export interface AdminVariables extends Pick<RequestVariables, "requestId" | "log" | "settings"> {
  registry: Registry;
  signedIn: SignedIn;
}

export type AdminEnv = { Bindings: Env; Variables: AdminVariables };
export type AdminContext = Context<AdminEnv>;

/** The mutation's author, request and moment. Once written it is in force here, before the witness of the audit log has answered. */
export function actingNow(c: AdminContext): Acting {
  return actingAs(c, c.get("signedIn").actor);
}

/** As {@link actingNow}, for somebody who is about to be signed in. */
export function actingAs(c: AdminContext, actor: string): Acting {
  const noteRow = (row: ChainHead, before: ChainHead | null) => {
    forgetPolicy();
    return noteAuditRow(c.env, row, before);
  };
  return { actor, requestId: c.get("requestId"), now: Date.now(), noteRow };
}
