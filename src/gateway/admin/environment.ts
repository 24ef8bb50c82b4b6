import type { Context } from "hono";
import { forgetPolicy } from "../auth/policy.ts";
import { inBackground } from "../background.ts";
import type { Env } from "../env.ts";
import { publishLive } from "../live/live-feed.ts";
import type { ChainHead } from "../registry/audit.ts";
import { noteRow as noteAuditRow } from "../registry/audit-witness.ts";
import type { Acting, Registry, WrittenRow } from "../registry/database.ts";
import type { RequestVariables } from "../request-context.ts";
import type { SignedIn } from "./credentials.ts";

/** What the gateway gives every request, and what the admin API adds for its routes. */
export interface AdminVariables extends Pick<RequestVariables, "requestId" | "log" | "settings"> {
  registry: Registry;
  signedIn: SignedIn;
  /** Whether the request would still be let in, as the same operator, were it made now. */
  isStillSignedIn: () => Promise<boolean>;
}

export type AdminEnv = { Bindings: Env; Variables: AdminVariables };
export type AdminContext = Context<AdminEnv>;

/** The mutation's author, request and moment. Once written it is in force here, before the witness of the audit log has answered. */
export function actingNow(c: AdminContext): Acting {
  return actingAs(c, c.get("signedIn").actor);
}

/** As {@link actingNow}, for somebody who is about to be signed in. */
export function actingAs(c: AdminContext, actor: string): Acting {
  const noteRow = ({ seq, hash, at, action, subject }: WrittenRow, before: ChainHead | null) => {
    forgetPolicy();
    inBackground(c, publishLive(c.env, { type: "audit", at, seq, actor, action, subject }));
    return noteAuditRow(c.env, { seq, hash }, before);
  };
  return { actor, requestId: c.get("requestId"), now: Date.now(), noteRow };
}
