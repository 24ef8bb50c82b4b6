import { sql } from "drizzle-orm";
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

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
    /** Null: the gateway's default, `ATTESTATION_MODE`. */
    attestationMode: text("attestation_mode", { enum: ["off", "advisory", "enforcing"] }),
    /** What happens when a skill's hash changes: serve it, serve and flag it, or keep the last approved version. */
    pin: text("pin", { enum: ["off", "warn", "hold"] })
      .notNull()
      .default("hold"),
    /** Whether this publisher is told the caller's W3C `traceparent`. */
    forwardTrace: integer("forward_trace", { mode: "boolean" }).notNull().default(false),
    /** Whether the Agent Skills that its index publishes are read and served. A site that this gateway hosts needs no such word. */
    agentSkills: integer("agent_skills", { mode: "boolean" }).notNull().default(false),
    /** How the handshake names the manifest of Agent Skills; null: as the agreed revision of MCP wants it. */
    agentSkillsPointer: text("agent_skills_pointer", { enum: ["string", "object", "off"] }),
    /** Goes up in the batch of every mutation that changes what is served of this origin, so that a reader need not read more. */
    policyVersion: integer("policy_version").notNull().default(1),
  },
  (table) => [
    uniqueIndex("origins_origin").on(table.origin),
    index("origins_created").on(table.createdAt, table.id),
    index("origins_status").on(table.status, table.createdAt, table.id),
    index("origins_called").on(table.status, table.lastCalledAt),
  ],
);

/** Every version of every skill an operator's probe has seen, with what it takes to serve it: its source is in `artifacts`. */
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
    /** Set: an operator refused this version. Approving it again clears it, and the other way round. */
    rejectedAt: integer("rejected_at"),
    rejectedBy: text("rejected_by"),
    /** What the operator wrote with the last approval or rejection. */
    note: text("note"),
    /** Of the llms.txt line. */
    description: text("description"),
    /** The `version` of the llms.txt line. */
    version: text("version"),
    /** JSON: the definition that the script registers. Null: seen before the store kept it; then the version cannot be served. */
    definition: text("definition"),
    /** The verified recipe's hash; its text is in `artifacts`. */
    recipeSha256: text("recipe_sha256"),
    /** Bytes of source and recipe together. Null: they are not in `artifacts`. */
    bytes: integer("bytes"),
    /**
     * JSON `[description, version, definition]`: what the latest probe saw of an approved version, where these or the recipe are not as they
     * were approved; approving takes them. Null: nothing differs.
     */
    changed: text("changed"),
    /** The recipe's hash that goes with `changed`. */
    changedRecipeSha256: text("changed_recipe_sha256"),
  },
  (table) => [
    primaryKey({ columns: [table.originId, table.scope, table.name, table.toolSha256] }),
    index("skills_tool").on(table.toolSha256),
    index("skills_recipe").on(table.recipeSha256),
    index("skills_changed_recipe").on(table.changedRecipeSha256),
    index("skills_seen").on(table.originId, table.lastSeenAt, table.scope, table.name, table.toolSha256),
    index("skills_queue").on(table.firstSeenAt, table.originId, table.scope, table.name, table.toolSha256),
    // The same list of those in one state, as `isOfState` says it: what waits is few among all that was ever seen.
    index("skills_waiting")
      .on(table.firstSeenAt, table.originId, table.scope, table.name, table.toolSha256)
      .where(sql`${table.changed} IS NOT NULL OR (${table.approvedAt} IS NULL AND ${table.rejectedAt} IS NULL)`),
    index("skills_rejected")
      .on(table.firstSeenAt, table.originId, table.scope, table.name, table.toolSha256)
      .where(sql`${table.approvedAt} IS NULL AND ${table.rejectedAt} IS NOT NULL`),
    index("skills_approved")
      .on(table.firstSeenAt, table.originId, table.scope, table.name, table.toolSha256)
      .where(sql`${table.approvedAt} IS NOT NULL`),
  ],
);

/** What an origin last published besides code, as its hub saw it: for a hub that lost all it had while the origin is down. */
export const publications = sqliteTable("publications", {
  originId: text("origin_id")
    .primaryKey()
    .references(() => origins.id),
  /** JSON: `[scope, name]` of the skills that `llms.txt` listed, in its order; none: the origin withdrew them all. */
  listed: text("listed").notNull(),
  /** JSON: the well-formed entries of `attestations.json`. */
  attestations: text("attestations").notNull(),
});

/** The memories of a publication; their bytes are in `artifacts`. */
export const publishedMemories = sqliteTable(
  "published_memories",
  {
    originId: text("origin_id")
      .notNull()
      .references(() => origins.id),
    /** Empty string: no scope. */
    scope: text("scope").notNull(),
    format: text("format", { enum: ["minimemory-okf-v1"] }).notNull(),
    sha256: text("sha256").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.originId, table.scope] }),
    index("published_memories_sha256").on(table.sha256),
  ],
);

/**
 * Sources, recipes and memories by the SHA-256 of their bytes, each once, in parts of at most 1 MiB: D1 caps a row at 2 MB. A part that no
 * row of `skills` or `published_memories` refers to is removed.
 */
export const artifacts = sqliteTable(
  "artifacts",
  {
    sha256: text("sha256").notNull(),
    part: integer("part").notNull(),
    bytes: blob("bytes", { mode: "buffer" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.sha256, table.part] })],
);
