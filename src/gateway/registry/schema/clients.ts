import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { origins } from "./origins.ts";

/** A tenant's credential holder. */
export const clients = sqliteTable(
  "clients",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    status: text("status", { enum: ["active", "suspended"] }).notNull(),
    /** Calls a minute; `0` blocks, `null` is unlimited. */
    rpm: integer("rpm"),
    /** Calls a UTC day; `null` is unlimited. */
    dailyQuota: integer("daily_quota"),
    /** True: every active origin, present and future. False: those in `client_origins`. */
    grantAll: integer("grant_all", { mode: "boolean" }).notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    index("clients_created").on(table.createdAt, table.id),
    index("clients_status").on(table.status, table.createdAt, table.id),
  ],
);

export const clientTokens = sqliteTable(
  "client_tokens",
  {
    id: text("id").primaryKey(),
    clientId: text("client_id")
      .notNull()
      .references(() => clients.id),
    /** SHA-256 of the token, lower-case hex. The token itself is never stored. */
    tokenSha256: text("token_sha256").notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at"),
    revokedAt: integer("revoked_at"),
    /** Issued by another gateway, and moved in by its hash: it has no checksum. */
    imported: integer("imported", { mode: "boolean" }).notNull().default(false),
    /** Written in the background, at most once a minute. */
    lastUsedAt: integer("last_used_at"),
    /** `inspection`: made for an operator who looks at what the client sees, for five minutes. */
    kind: text("kind", { enum: ["client", "inspection"] })
      .notNull()
      .default("client"),
    /** What the operator calls it. */
    label: text("label"),
    /** `inspection`: who made it, as in `audit_log`; it ends with what they may do. Null: made before this was kept. */
    createdBy: text("created_by"),
  },
  (table) => [
    uniqueIndex("client_tokens_sha256").on(table.tokenSha256),
    index("client_tokens_client").on(table.clientId, table.createdAt, table.id),
    index("client_tokens_imported").on(table.imported).where(sql`${table.imported} AND ${table.revokedAt} IS NULL`),
    index("client_tokens_inspection").on(table.createdBy).where(sql`${table.kind} = 'inspection'`),
  ],
);

/** Grants: which client may use which origin. */
export const clientOrigins = sqliteTable(
  "client_origins",
  {
    clientId: text("client_id")
      .notNull()
      .references(() => clients.id),
    originId: text("origin_id")
      .notNull()
      .references(() => origins.id),
  },
  (table) => [
    primaryKey({ columns: [table.clientId, table.originId] }),
    index("client_origins_origin").on(table.originId),
  ],
);

/** Which tools of an origin a client may see and call; without rows, all that the grant covers. */
export const clientTools = sqliteTable(
  "client_tools",
  {
    clientId: text("client_id")
      .notNull()
      .references(() => clients.id),
    originId: text("origin_id")
      .notNull()
      .references(() => origins.id),
    /** With one row of `allow` nothing else is allowed; `deny` is stronger. */
    effect: text("effect", { enum: ["allow", "deny"] }).notNull(),
    /** Public name. Empty, with `allow`: there is a list of allowed tools, though it may be empty. */
    tool: text("tool").notNull(),
  },
  (table) => [primaryKey({ columns: [table.clientId, table.originId, table.effect, table.tool] })],
);

/** Limits of a client on one origin or one of its tools, beside the client's own. */
export const clientLimits = sqliteTable(
  "client_limits",
  {
    clientId: text("client_id")
      .notNull()
      .references(() => clients.id),
    originId: text("origin_id")
      .notNull()
      .references(() => origins.id),
    /** Public name; empty: the whole origin. */
    tool: text("tool").notNull(),
    /** Calls a minute; `0` blocks. */
    rpm: integer("rpm").notNull(),
  },
  (table) => [primaryKey({ columns: [table.clientId, table.originId, table.tool] })],
);
