import { and, eq, sql } from "drizzle-orm";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { openRegistry } from "../registry/database.ts";
import { clientOrigins, clients, clientTokens, origins } from "../registry/schema.ts";
import { MAX_IMPORTED_TOKENS } from "../registry/tokens.ts";
import { readTrust } from "../registry/trust.ts";
import type { DecisionReader } from "../trust/decision-cache.ts";
import type { OriginTerms } from "../trust/decisions.ts";
import { readDecisions } from "../trust/read-decisions.ts";
import { type ClientRules, readRules } from "./client-rules.ts";

/** The holder of a token that counts. */
export interface ClientPolicy {
  readonly clientId: string;
  readonly rpm: number | null;
  readonly dailyQuota: number | null;
  readonly grantAll: boolean;
  /** When the token ends to count, epoch milliseconds. */
  readonly expiresAt: number | null;
  /** `inspection`: an operator looks at what this client sees. */
  readonly tokenKind: "client" | "inspection";
}

/** An origin's row, as it is to one client. */
export interface GrantRow extends OriginTerms {
  /** Granted to this client by a row of its own; clients with `grantAll` need none. */
  readonly grantedByRow: boolean;
  /** `null`: there are none, as for most clients. */
  readonly rules: ClientRules | null;
}

/** A token as it is written down, whether or not it counts. */
export interface TokenRow extends ClientPolicy {
  readonly clientActive: boolean;
  readonly revokedAt: number | null;
  /** As written down; epoch milliseconds. */
  readonly lastUsedAt: number | null;
}

/** What the cache needs of the world. */
export interface PolicyReader extends DecisionReader {
  readToken(sha256: string): Promise<TokenRow | null>;
  /** Writes down that a token was used. */
  noteTokenUse(sha256: string, at: number): Promise<void>;
  /** Hashes of the usable tokens that another gateway issued, at most {@link MAX_IMPORTED_TOKENS}. */
  readImportedTokens(): Promise<readonly string[]>;
  readOrigin(clientId: string, origin: CanonicalOrigin): Promise<GrantRow | null>;
}

/** Reads policy from D1: one query for a token with its client, one for an origin with the client's grant. */
export function d1PolicyReader(database: D1Database): PolicyReader {
  const registry = openRegistry(database);
  return {
    async readToken(sha256) {
      const rows = await registry
        .select({
          clientId: clients.id,
          rpm: clients.rpm,
          dailyQuota: clients.dailyQuota,
          grantAll: clients.grantAll,
          status: clients.status,
          expiresAt: clientTokens.expiresAt,
          revokedAt: clientTokens.revokedAt,
          lastUsedAt: clientTokens.lastUsedAt,
          tokenKind: clientTokens.kind,
        })
        .from(clientTokens)
        .innerJoin(clients, eq(clients.id, clientTokens.clientId))
        .where(eq(clientTokens.tokenSha256, sha256))
        .limit(1);
      const row = rows[0];
      if (row === undefined) return null;
      const { status, ...rest } = row;
      return { ...rest, clientActive: status === "active" };
    },
    async noteTokenUse(sha256, at) {
      await registry.update(clientTokens).set({ lastUsedAt: at }).where(eq(clientTokens.tokenSha256, sha256));
    },
    async readOrigin(clientId, origin) {
      const rows = await registry
        .select({
          originId: origins.id,
          status: origins.status,
          mode: origins.attestationMode,
          pin: origins.pin,
          forwardTrace: origins.forwardTrace,
          agentSkills: origins.agentSkills,
          agentSkillsPointer: origins.agentSkillsPointer,
          policyVersion: origins.policyVersion,
          trustVersion: sql<number>`COALESCE((SELECT MAX(version) FROM trust_state), 0)`,
          grant: clientOrigins.clientId,
          tools: sql<string>`(SELECT json_group_array(json_array(effect, tool)) FROM (
            SELECT effect, tool FROM client_tools WHERE client_id = ${clientId} AND origin_id = ${origins.id} ORDER BY effect, tool))`,
          limits: sql<string>`(SELECT json_group_array(json_array(tool, rpm)) FROM (
            SELECT tool, rpm FROM client_limits WHERE client_id = ${clientId} AND origin_id = ${origins.id} ORDER BY tool))`,
        })
        .from(origins)
        .leftJoin(clientOrigins, and(eq(clientOrigins.originId, origins.id), eq(clientOrigins.clientId, clientId)))
        .where(eq(origins.origin, origin))
        .limit(1);
      const row = rows[0];
      if (row === undefined) return null;
      const { grant, tools, limits, ...rest } = row;
      return { ...rest, grantedByRow: grant !== null, rules: readRules(row.originId, { tools, limits }) };
    },
    async readImportedTokens() {
      const rows = await registry
        .select({ sha256: clientTokens.tokenSha256 })
        .from(clientTokens)
        .where(sql`${clientTokens.imported} AND ${clientTokens.revokedAt} IS NULL`)
        .limit(MAX_IMPORTED_TOKENS);
      return rows.map(({ sha256 }) => sha256);
    },
    readDecisions: (terms, origin) => readDecisions(registry, terms, origin),
    readTrust: () => readTrust(registry),
  };
}
