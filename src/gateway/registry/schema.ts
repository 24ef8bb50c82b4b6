import { sql } from "drizzle-orm";
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

// Times are epoch milliseconds. Ids are `<prefix>_<random>`: org_, cli_, tok_, rev_, rvk_, opr_, opt_, ses_, sit_. Later stages add their tables.

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

/** Keys and identities whose attestations count. An attester may have several over time, of which one at most is active. */
export const reviewers = sqliteTable(
  "reviewers",
  {
    id: text("id").primaryKey(),
    /** `type:name`, as entries name it. */
    attester: text("attester").notNull(),
    kind: text("kind", { enum: ["ed25519", "sigstore"] }).notNull(),
    /** Base64 of 32 bytes; `ed25519` only. */
    publicKey: text("public_key"),
    /** `sigstore` only, as is `identity`. */
    issuer: text("issuer"),
    identity: text("identity"),
    registeredAt: integer("registered_at").notNull(),
    /** From then on only what the gateway had stored before counts. */
    retiredAt: integer("retired_at"),
    /** From then on nothing of this key counts. */
    revokedAt: integer("revoked_at"),
    /** Why it was retired or revoked. */
    reason: text("reason"),
    note: text("note"),
  },
  (table) => [
    uniqueIndex("reviewers_active")
      .on(table.attester)
      .where(sql`${table.retiredAt} IS NULL AND ${table.revokedAt} IS NULL`),
    index("reviewers_registered").on(table.registeredAt, table.id),
  ],
);

/** The gateway's own attestations, beside those that publishers ship. */
export const attestations = sqliteTable(
  "attestations",
  {
    /** SHA-256 of the fields that matter: see core/attestation. */
    id: text("id").primaryKey(),
    /** Canonical. It need not be registered yet. */
    origin: text("origin").notNull(),
    skill: text("skill").notNull(),
    toolSha256: text("tool_sha256").notNull(),
    attester: text("attester").notNull(),
    /** `YYYY-MM-DD`, as is `valid_until`. */
    signedOn: text("signed_on").notNull(),
    validUntil: text("valid_until").notNull(),
    /** JSON: the entry as a publisher would publish it. */
    entry: text("entry").notNull(),
    storedAt: integer("stored_at").notNull(),
    storedBy: text("stored_by").notNull(),
  },
  (table) => [
    // Of each filter both orders of the list, so that no page of it is sorted.
    index("attestations_stored").on(table.storedAt, table.id),
    index("attestations_expiry").on(table.validUntil, table.id),
    index("attestations_origin").on(table.origin, table.storedAt, table.id),
    index("attestations_origin_expiry").on(table.origin, table.validUntil, table.id),
    index("attestations_attester").on(table.attester, table.storedAt, table.id),
    index("attestations_attester_expiry").on(table.attester, table.validUntil, table.id),
    index("attestations_tool").on(table.toolSha256, table.storedAt, table.id),
    index("attestations_tool_expiry").on(table.toolSha256, table.validUntil, table.id),
  ],
);

/** Attestations and hashes that count for nothing, each until lifted. */
export const revocations = sqliteTable(
  "revocations",
  {
    id: text("id").primaryKey(),
    kind: text("kind", { enum: ["attestation", "hash"] }).notNull(),
    /** An attestation's id, or a tool_sha256. */
    subject: text("subject").notNull(),
    reason: text("reason").notNull(),
    revokedAt: integer("revoked_at").notNull(),
    revokedBy: text("revoked_by").notNull(),
    liftedAt: integer("lifted_at"),
    liftedBy: text("lifted_by"),
    liftReason: text("lift_reason"),
  },
  (table) => [
    uniqueIndex("revocations_in_force").on(table.kind, table.subject).where(sql`${table.liftedAt} IS NULL`),
    index("revocations_revoked").on(table.revokedAt, table.id),
  ],
);

/** One row: what holds for all origins. */
export const trustState = sqliteTable("trust_state", {
  /** Always 1. */
  id: integer("id").primaryKey(),
  /** Goes up in the batch of every change of reviewers, revocations and the trust root. */
  version: integer("version").notNull(),
  /** JSON: the Sigstore trust root. Null: the embedded one. */
  trustRoot: text("trust_root"),
  trustRootAt: integer("trust_root_at"),
});

/** How verdicts changed, for people: nothing that decides reads it. */
export const verdicts = sqliteTable(
  "verdicts",
  {
    originId: text("origin_id")
      .notNull()
      .references(() => origins.id),
    /** Empty string: no scope. */
    scope: text("scope").notNull(),
    name: text("name").notNull(),
    toolSha256: text("tool_sha256").notNull(),
    verdict: text("verdict", { enum: ["attested", "expired", "invalid", "unattested"] }).notNull(),
    at: integer("at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.originId, table.scope, table.name, table.toolSha256, table.at] }),
    index("verdicts_at").on(table.originId, table.at, table.scope, table.name, table.toolSha256),
  ],
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

/** A person, or a script, who uses the admin API. */
export const operators = sqliteTable(
  "operators",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    role: text("role", { enum: ["viewer", "reviewer", "admin"] }).notNull(),
    status: text("status", { enum: ["active", "suspended"] }).notNull(),
    /** Lower case. Who signs in through Cloudflare Access with it is this operator. */
    accessEmail: text("access_email"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    uniqueIndex("operators_access_email").on(table.accessEmail),
    index("operators_created").on(table.createdAt, table.id),
    index("operators_status").on(table.status, table.createdAt, table.id),
    index("operators_role").on(table.role, table.createdAt, table.id),
  ],
);

export const operatorTokens = sqliteTable(
  "operator_tokens",
  {
    id: text("id").primaryKey(),
    operatorId: text("operator_id")
      .notNull()
      .references(() => operators.id),
    /** SHA-256 of the token, lower-case hex. The token itself is never stored. */
    tokenSha256: text("token_sha256").notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
    revokedAt: integer("revoked_at"),
    /** Written in the background, at most once a minute. */
    lastUsedAt: integer("last_used_at"),
  },
  (table) => [
    uniqueIndex("operator_tokens_sha256").on(table.tokenSha256),
    index("operator_tokens_operator").on(table.operatorId, table.createdAt, table.id),
  ],
);

/** Signed-in browsers. */
export const operatorSessions = sqliteTable(
  "operator_sessions",
  {
    id: text("id").primaryKey(),
    /** Null, as is `token_id`: signed in with `ADMIN_TOKEN`. */
    operatorId: text("operator_id").references(() => operators.id),
    /** The token it was opened with, with which it ends. */
    tokenId: text("token_id").references(() => operatorTokens.id),
    /** Hash of the cookie's value; of one opened with `ADMIN_TOKEN`, keyed by that, so that it ends when the token is changed. */
    sessionSha256: text("session_sha256").notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
    revokedAt: integer("revoked_at"),
  },
  (table) => [
    uniqueIndex("operator_sessions_sha256").on(table.sessionSha256),
    index("operator_sessions_expiry").on(table.expiresAt),
  ],
);

/** One row: what holds for the operators' console as a whole. */
export const consoleState = sqliteTable("console_state", {
  /** Always 1. */
  id: integer("id").primaryKey(),
  /** From then on `ADMIN_TOKEN` lets nobody in. */
  bootstrapRetiredAt: integer("bootstrap_retired_at"),
  bootstrapRetiredBy: text("bootstrap_retired_by"),
});

/** Answers to requests that created something, for who sends the same request again within a day. */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    /** As in `audit_log`. */
    actor: text("actor").notNull(),
    key: text("key").notNull(),
    /** SHA-256 of method, path and body. */
    requestSha256: text("request_sha256").notNull(),
    status: integer("status").notNull(),
    /** Null: the answer showed a secret, or was too long to be kept. */
    body: text("body"),
    /** Id of what was created, where it is one thing. */
    subject: text("subject"),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.actor, table.key] }), index("idempotency_keys_created").on(table.createdAt)],
);

/** Where this gateway hosts the files of a publisher. */
export const sites = sqliteTable(
  "sites",
  {
    id: text("id").primaryKey(),
    /** Its address is `/s/<name>/` of the gateway, beside its own hosts. */
    name: text("name").notNull(),
    status: text("status", { enum: ["active", "suspended"] }).notNull(),
    /** What makes a caller one that is shown what is for authenticated callers: any `Authorization` header, or a client's token. */
    authenticatedMeans: text("authenticated_means", { enum: ["header", "verified"] }).notNull(),
    /** Manifests repeat `skills` as `entries`. */
    entriesAlias: integer("entries_alias", { mode: "boolean" }).notNull(),
    /** Whether manifests give the address of an artifact, or that of its very bytes. */
    artifactUrls: text("artifact_urls", { enum: ["plain", "pinned"] }).notNull(),
    /** How long the bytes of a version that was replaced stay readable by their digest, seconds. */
    graceS: integer("grace_s").notNull(),
    /** Null: nothing is published yet. Changing it is what publishes. */
    currentVersion: integer("current_version"),
    /** When it was changed last; two changes of one site are a second apart at least, as HTTP dates are. */
    switchedAt: integer("switched_at"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [uniqueIndex("sites_name").on(table.name), index("sites_created").on(table.createdAt, table.id)],
);

/** Hosts that belong to a site alone. */
export const siteHosts = sqliteTable(
  "site_hosts",
  {
    /** `host[:port]`, lower case, as the URL standard writes it. */
    host: text("host").primaryKey(),
    siteId: text("site_id")
      .notNull()
      .references(() => sites.id),
  },
  (table) => [index("site_hosts_site").on(table.siteId)],
);

/** What a site published, each time. A row never changes but for `retired_at`. */
export const siteVersions = sqliteTable(
  "site_versions",
  {
    siteId: text("site_id")
      .notNull()
      .references(() => sites.id),
    /** Counted from 1. */
    version: integer("version").notNull(),
    /** JSON: `SiteContent` of core/agent-skills, at most 1.5 million characters, since D1 caps a row. */
    content: text("content").notNull(),
    publishedAt: integer("published_at").notNull(),
    publishedBy: text("published_by").notNull(),
    note: text("note"),
    /** When another one took its place; null for the current one. */
    retiredAt: integer("retired_at"),
  },
  (table) => [primaryKey({ columns: [table.siteId, table.version] })],
);

/** Bytes of a site, which lie in R2 at `sites/<site id>/<sha256>`. */
export const siteBlobs = sqliteTable(
  "site_blobs",
  {
    siteId: text("site_id")
      .notNull()
      .references(() => sites.id),
    sha256: text("sha256").notNull(),
    bytes: integer("bytes").notNull(),
    /** When they were uploaded, or a publication named them; what no version names is removed a week later. */
    storedAt: integer("stored_at").notNull(),
    /** How often other bytes than these were found in their place; three are quarantine. Uploading them again sets it to 0. */
    mismatches: integer("mismatches").notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.siteId, table.sha256] }),
    index("site_blobs_mismatched").on(table.siteId, table.sha256).where(sql`${table.mismatches} > 0`),
    index("site_blobs_stored").on(table.storedAt),
  ],
);

/** Calls of one hour. Each latency column counts the calls that took at most so many milliseconds and more than the one before. */
export const usageHourly = sqliteTable(
  "usage_hourly",
  {
    /** Hours since the epoch, UTC. */
    hour: integer("hour").notNull(),
    clientId: text("client_id").notNull(),
    originId: text("origin_id").notNull(),
    /** Public name; `(other)`: those past the bound of distinct tools an origin an hour. */
    tool: text("tool").notNull(),
    calls: integer("calls").notNull(),
    gas: integer("gas").notNull(),
    ms1: integer("ms_1").notNull(),
    ms2: integer("ms_2").notNull(),
    ms5: integer("ms_5").notNull(),
    ms10: integer("ms_10").notNull(),
    ms20: integer("ms_20").notNull(),
    ms50: integer("ms_50").notNull(),
    ms100: integer("ms_100").notNull(),
    ms200: integer("ms_200").notNull(),
    ms500: integer("ms_500").notNull(),
    ms1000: integer("ms_1000").notNull(),
    ms2000: integer("ms_2000").notNull(),
    ms5000: integer("ms_5000").notNull(),
    ms10000: integer("ms_10000").notNull(),
    ms30000: integer("ms_30000").notNull(),
    msMore: integer("ms_more").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.hour, table.clientId, table.originId, table.tool] }),
    index("usage_hourly_client").on(table.clientId, table.hour),
    index("usage_hourly_origin").on(table.originId, table.hour),
  ],
);

/** Of the calls in `usage_hourly`, those that failed, by kind. */
export const usageErrors = sqliteTable(
  "usage_errors",
  {
    hour: integer("hour").notNull(),
    clientId: text("client_id").notNull(),
    originId: text("origin_id").notNull(),
    tool: text("tool").notNull(),
    kind: text("kind").notNull(),
    errors: integer("errors").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.hour, table.clientId, table.originId, table.tool, table.kind] }),
    index("usage_errors_client").on(table.clientId, table.hour),
    index("usage_errors_origin").on(table.originId, table.hour),
  ],
);

/** What isolates wrote down of their usage lately: what is sent again, because nobody said that it arrived, is counted once. */
export const usageFlushes = sqliteTable(
  "usage_flushes",
  {
    id: text("id").primaryKey(),
    at: integer("at").notNull(),
  },
  (table) => [index("usage_flushes_at").on(table.at)],
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
  // Each of the others ends with the row number, as every index of SQLite does.
  (table) => [
    uniqueIndex("audit_log_prev").on(table.prevHash),
    index("audit_log_actor").on(table.actor),
    index("audit_log_action").on(table.action),
    index("audit_log_subject").on(table.subject),
    index("audit_log_at").on(table.at),
  ],
);
