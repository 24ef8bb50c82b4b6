import type { OriginRules } from "../../core/origin.ts";
import { originRules } from "../mcp-origin.ts";
import { urlOf } from "../request-url.ts";
import type { AdminContext } from "./environment.ts";

/** Which origins may be registered: those that may be called, but for the operators' host, which no publisher may have either. */
export function registrableOrigins(c: AdminContext): OriginRules {
  const { adminHost } = c.get("settings");
  const rules = originRules(c.get("settings"), urlOf(c.req));
  return adminHost === null ? rules : { ...rules, ownHosts: [...rules.ownHosts, adminHost] };
}
