import type { SiteContent } from "../../src/core/agent-skills/publication.ts";

/** What the admin API answers, as its OpenAPI document (`/admin/api/v1/openapi.json`) says. Moments are epoch milliseconds. */

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
  /** Of a list without further pages, as usage by its calls: what is left out. */
  readonly rest?: { readonly groups: number; readonly calls: number } | null;
}

export type Role = "viewer" | "reviewer" | "admin";

export interface Session {
  /** `id` is null for the holder of ADMIN_TOKEN. */
  readonly operator: { readonly id: string | null; readonly name: string; readonly role: Role };
  /** Null: a bearer token signed in, which needs none. */
  readonly csrfToken: string | null;
  readonly expiresAt: number | null;
  /** Where Cloudflare Access ends its own session, which would let the browser in again; null: it lets nobody in here. */
  readonly accessLogout: string | null;
}

export type OriginStatus = "pending" | "active" | "suspended" | "revoked";
export type AttestationMode = "off" | "advisory" | "enforcing";
export type Pin = "off" | "warn" | "hold";
export type AgentSkillsPointer = "string" | "object" | "off";

export interface Origin {
  readonly id: string;
  readonly origin: string;
  readonly status: OriginStatus;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly probedAt: number | null;
  readonly lastCalledAt: number | null;
  readonly attestationMode: AttestationMode | null;
  readonly pin: Pin;
  readonly forwardTrace: boolean;
  /** Whether the Agent Skills that its index names are read and served. */
  readonly agentSkills: boolean;
  /** Null: as the agreed revision of MCP wants it. */
  readonly agentSkillsPointer: AgentSkillsPointer | null;
}

export type Verdict = "attested" | "expired" | "invalid" | "unattested";
export type SkillState = "approved" | "rejected" | "waiting";

export interface SkillId {
  readonly scope: string | null;
  readonly name: string;
}

export interface SkillVersion extends SkillId {
  readonly toolSha256: string;
  readonly state: SkillState;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  readonly approvedAt: number | null;
  readonly approvedBy: string | null;
  readonly rejectedAt: number | null;
  readonly rejectedBy: string | null;
  readonly note: string | null;
  readonly description: string | null;
  readonly version: string | null;
  readonly recipeSha256: string | null;
  readonly bytes: number | null;
  /** Its description, version, recipe or definition is no longer as it was approved, though the code is. */
  readonly changedSinceApproval: boolean;
}

/** One version, read by its address. */
export interface ReadSkillVersion extends SkillVersion {
  /** Whether the latest probe of the origin saw it. */
  readonly isCurrent: boolean;
  /** Hash of the last approved other version of the skill. */
  readonly comparedWith: string | null;
}

export interface Because {
  readonly attestationId: string;
  readonly attester: string;
  readonly signedOn: string;
  readonly validUntil: string;
  readonly storedAt: number | null;
  readonly reviewerId: string | null;
  readonly standing: string;
  readonly failure: { readonly code: string; readonly message: string } | null;
}

export interface ProbedSkill extends SkillId {
  readonly publicName: string;
  readonly description: string;
  readonly version: string | null;
  readonly toolSha256: string;
  readonly recipeSha256: string | null;
  readonly recipeVerified: boolean | null;
  readonly verdict: Verdict;
  readonly because: readonly Because[];
  readonly state: SkillState;
  readonly approvedAt: number | null;
  readonly changedSinceApproval: boolean;
}

export interface Rejection extends SkillId {
  readonly subject: "skill" | "recipe" | "memory" | "index" | "attestations";
  readonly code: string;
  readonly message: string;
  /** The request that it came of; null: of none. */
  readonly fetch: { readonly url: string; readonly status: number | null } | null;
}

export interface Probe {
  readonly id: string;
  readonly origin: string;
  readonly probedAt: number | null;
  readonly fetchedAt: number | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly skills: readonly ProbedSkill[];
  readonly index: { readonly code: string; readonly message: string; readonly entries: number } | null;
  readonly rejected: readonly Rejection[];
  readonly prose: readonly { readonly name: string; readonly description: string; readonly reason: string }[];
  readonly memories: readonly { readonly scope: string | null; readonly sha256: string; readonly bytes: number }[];
  readonly attestations: number;
  /** Those that speak of no version found. */
  readonly strayAttestations: readonly StrayAttestation[];
}

export interface StrayAttestation {
  readonly attestationId: string;
  readonly origin: string;
  readonly skill: string;
  readonly attester: string;
  readonly validUntil: string;
}

export interface HiddenCharacter {
  readonly codePoint: string;
  readonly count: number;
  readonly line: number;
}

export interface SkillSource {
  readonly version: SkillVersion;
  readonly source: string;
  readonly recipe: string | null;
  readonly definition: Readonly<Record<string, unknown>>;
  /** What approving the version again would take, where the publisher changed it under the same hash. */
  readonly changed: {
    readonly description: string;
    readonly version: string | null;
    readonly recipe: string | null;
    readonly definition: Readonly<Record<string, unknown>>;
  } | null;
  readonly hidden: { readonly source: readonly HiddenCharacter[]; readonly recipe: readonly HiddenCharacter[] };
}

export interface DiffHunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly continued: readonly number[];
  /** Each begins with a space, `-` or `+`. */
  readonly lines: readonly string[];
}

export interface SkillDiff {
  readonly version: SkillVersion;
  readonly against: SkillVersion | null;
  readonly linesBroken: boolean;
  readonly replaced: boolean;
  readonly truncated: boolean;
  readonly hunks: readonly DiffHunk[];
  readonly hidden: readonly HiddenCharacter[];
}

export interface VerdictChange extends SkillId {
  readonly toolSha256: string;
  readonly verdict: Verdict;
  readonly at: number;
}

export type ReviewerKey =
  | { readonly kind: "ed25519"; readonly publicKey: string }
  | { readonly kind: "sigstore"; readonly issuer: string; readonly identity: string };

export interface Reviewer {
  readonly id: string;
  readonly attester: string;
  readonly key: ReviewerKey;
  readonly status: "active" | "retired" | "revoked";
  readonly registeredAt: number;
  readonly retiredAt: number | null;
  readonly revokedAt: number | null;
  readonly reason: string | null;
  readonly note: string | null;
}

export interface Attestation {
  readonly id: string;
  readonly origin: string;
  readonly skill: string;
  readonly toolSha256: string;
  readonly attester: string;
  readonly signedOn: string;
  readonly validUntil: string;
  readonly kind: "ed25519" | "sigstore";
  readonly note: string | null;
  readonly storedAt: number;
  readonly storedBy: string;
  readonly revocationId: string | null;
}

export interface JudgedAttestation extends Attestation {
  readonly entry: Readonly<Record<string, unknown>>;
  readonly standing: string;
}

export type AttestationResult =
  | {
      readonly index: number;
      readonly status: "accepted";
      readonly id: string;
      readonly isNew: boolean;
      readonly verdict: Verdict;
      readonly standing: string;
    }
  | { readonly index: number; readonly status: "refused"; readonly code: string; readonly message: string };

export interface Revocation {
  readonly id: string;
  readonly kind: "attestation" | "hash";
  readonly subject: string;
  readonly reason: string;
  readonly revokedAt: number;
  readonly revokedBy: string;
  readonly liftedAt: number | null;
  readonly liftedBy: string | null;
  readonly liftReason: string | null;
}

export interface Client {
  readonly id: string;
  readonly name: string;
  readonly status: "active" | "suspended";
  readonly rpm: number | null;
  readonly dailyQuota: number | null;
  readonly grants: "all" | readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ClientToken {
  readonly id: string;
  readonly clientId: string;
  readonly status: "active" | "expired" | "revoked";
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly imported: boolean;
  readonly label: string | null;
  readonly lastUsedAt: number | null;
  readonly kind: "client" | "inspection";
}

export interface Site {
  readonly id: string;
  readonly name: string;
  readonly status: "active" | "suspended";
  readonly hosts: readonly string[];
  readonly authenticatedMeans: "header" | "verified";
  readonly entriesAlias: boolean;
  readonly artifactUrls: "plain" | "pinned";
  /** Seconds. */
  readonly graceS: number;
  /** Null: nothing is published yet. */
  readonly currentVersion: number | null;
  readonly switchedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface SiteVersion {
  readonly siteId: string;
  readonly version: number;
  readonly publishedAt: number;
  readonly publishedBy: string;
  readonly note: string | null;
  /** Null: it is the current one. */
  readonly retiredAt: number | null;
}

/** One version, read by its number. */
export interface ReadSiteVersion extends SiteVersion {
  readonly content: SiteContent;
}

/** Bytes of a site that were found to be others than published. */
export interface SiteMismatch {
  readonly sha256: string;
  readonly bytes: number;
  /** From 3 on they are in quarantine. */
  readonly mismatches: number;
}

export interface AuditEntry {
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  /** What the actor is called today; null: nobody is known by that id. */
  readonly actorName: string | null;
  readonly action: string;
  readonly subject: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  readonly prevHash: string;
  readonly hash: string;
}

export interface AuditVerification {
  readonly status: "intact" | "unwitnessed" | "broken";
  readonly verifiedTo: number;
  readonly broken: { readonly seq: number; readonly reason: string } | null;
  readonly head: { readonly seq: number; readonly hash: string; readonly at: number } | null;
  readonly unnoted: readonly number[];
  readonly nextCursor: string | null;
}

export interface Impact {
  /** At most 200, those with most calls first. */
  readonly clients: readonly { readonly id: string; readonly name: string; readonly callsLastDay: number }[];
  readonly clientsTotal: number;
  /** Null: the origin's hub does not answer. */
  readonly tools: readonly string[] | null;
  readonly callsLastDay: number;
}

export interface ReleaseSkill extends SkillId {
  readonly publicName: string;
  readonly toolSha256: string;
  readonly description: string;
  readonly verdict: Verdict;
  readonly pinState: "served" | "flagged" | "held" | "waiting" | "withheld";
  readonly code: string | null;
  readonly message: string | null;
  readonly fetches: { readonly paths: readonly string[]; readonly complete: boolean };
}

export interface Release {
  readonly fetchedAt: number | null;
  readonly state: "current" | "failing" | "none";
  readonly failure: { readonly at: number; readonly code: string; readonly message: string } | null;
  readonly skills: readonly ReleaseSkill[];
  readonly rejected: readonly Rejection[];
}

export interface Discovery {
  readonly at: number;
  readonly firstAt: number;
  readonly times: number;
  readonly outcome: "release" | "failure";
  readonly code: string | null;
  readonly message: string | null;
  readonly skills: number | null;
  readonly held: number | null;
  readonly rejected: number | null;
}

export interface ToolRule {
  readonly originId: string;
  /** Public names; null: all. */
  readonly allow: readonly string[] | null;
  readonly deny: readonly string[];
}

export interface ClientLimit {
  readonly originId: string;
  /** Null: the whole origin. */
  readonly tool: string | null;
  readonly rpm: number;
}

export interface Usage {
  /** Epoch milliseconds of the hour's begin, where usage is told by hour. */
  readonly hour: number | null;
  readonly clientId: string | null;
  readonly originId: string | null;
  readonly tool: string | null;
  readonly calls: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** How many calls took at most so many milliseconds, each counted once. */
  readonly buckets: readonly number[];
}

export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly status: "active" | "suspended";
  readonly accessEmail: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface OperatorToken {
  readonly id: string;
  readonly operatorId: string;
  readonly status: "active" | "expired" | "revoked";
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
}

export interface Health {
  readonly status: "ready" | "not_ready";
  readonly parts: Readonly<Record<string, "ok" | "failed">>;
  readonly version: string;
  readonly origins: Readonly<Record<OriginStatus, number>>;
  /** How many active origins' hubs were asked: those called last. */
  readonly asked: number;
  readonly refusing: readonly {
    readonly id: string;
    readonly origin: string;
    readonly rejected: number;
    readonly held: number;
  }[];
  readonly failing: readonly {
    readonly id: string;
    readonly origin: string;
    readonly fetchedAt: number | null;
    readonly failure: { readonly at: number; readonly code: string; readonly message: string } | null;
  }[];
}

export interface Setting {
  readonly name: string;
  readonly value: string | number;
  readonly isDefault: boolean;
}
