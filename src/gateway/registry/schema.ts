import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

// Times are epoch milliseconds. Ids are `<prefix>_<random>`: org_, cli_, tok_. Later stages add their tables.

/** A publisher's address and what the operator decided about it. */
export const origins = sqliteTable(
  "origins",
  {
    id: text("id").primaryKey(),
    origin: text("origin").notNull(),
    status: text("status", { enum: ["pending", "active", "suspended", "revoked"] }).notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** When the last successful probe was recorded; its skills are the rows of `skills` whose `last_seen_at` equals this. */
    probedAt: integer("probed_at"),
    /** Epoch milliseconds of the last call through the gateway, written in the background; the cron wakes recent ones. */
    lastCalledAt: integer("last_called_at"),
  },
  (table) => [
    uniqueIndex("origins_origin").on(table.origin),
    index("origins_created").on(table.createdAt, table.id),
    index("origins_called").on(table.status, table.lastCalledAt),
  ],
);

/** Every version of every skill an operator's probe has seen. */
export const skills = sqliteTable(
  "skills",
  {
    originId: text("origin_id")
      .notNull()
      .references(() => origins.id),
    /** Empty string: no scope. */
    scope: text("scope").notNull(),
    name: text("name").notNull(),
    toolSha256: text("tool_sha256").notNull(),
    firstSeenAt: integer("first_seen_at").notNull(),
    lastSeenAt: integer("last_seen_at").notNull(),
    approvedAt: integer("approved_at"),
    approvedBy: text("approved_by"),
  },
  (table) => [primaryKey({ columns: [table.originId, table.scope, table.name, table.toolSha256] })],
);

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
  (table) => [index("clients_created").on(table.createdAt, table.id)],
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
  },
  (table) => [
    uniqueIndex("client_tokens_sha256").on(table.tokenSha256),
    index("client_tokens_client").on(table.clientId, table.createdAt, table.id),
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

/** Append-only. Each row holds the hash of the one before; a losing writer retries on the unique index. */
export const auditLog = sqliteTable(
  "audit_log",
  {
    seq: integer("seq").primaryKey(),
    at: integer("at").notNull(),
    /** Who: `admin-token`, or an operator's id. */
    actor: text("actor").notNull(),
    /** What: `origin.create`, `client.token.revoke`, … */
    action: text("action").notNull(),
    subject: text("subject").notNull(),
    /** JSON; never a token or an argument value. */
    detail: text("detail").notNull().default(sql`'{}'`),
    requestId: text("request_id").notNull(),
    prevHash: text("prev_hash").notNull(),
    hash: text("hash").notNull(),
  },
  (table) => [uniqueIndex("audit_log_prev").on(table.prevHash)],
);
