import type { ApprovedVersion, Policy, StoredAttestation } from "../../core/catalog.ts";
import type { SkillsPointer } from "../../core/mcp/provider.ts";
import type { TrustInForce } from "../registry/trust.ts";

/** What the operator decided about one origin, apart from its status and grants. Never changed; made anew when its version moved. */
export interface OriginDecisions {
  /** `policy_version` of the origin's row. */
  readonly version: number;
  /** `null`: the gateway's default, `ATTESTATION_MODE`. */
  readonly mode: Policy["mode"] | null;
  readonly pin: Policy["pin"];
  /** Whether the publisher is told the caller's `traceparent`. */
  readonly forwardTrace: boolean;
  /** Whether the Agent Skills of the publisher's index are served. */
  readonly agentSkills: boolean;
  readonly agentSkillsPointer: SkillsPointer;
  /** By `skillKey`; the newest approval first. */
  readonly approved: ReadonlyMap<string, readonly ApprovedVersion[]>;
  /** As in `Policy`. */
  readonly rejected: Policy["rejected"];
  /** The newest of the gateway's own attestations for this origin, see `readDecisions`. */
  readonly stored: readonly StoredAttestation[];
  /** What all of it occupies in memory, about. */
  readonly bytes: number;
}

/** What an origin's row says of it, and by which an isolate knows whether it must read more. */
export interface OriginTerms {
  readonly originId: string;
  readonly status: Policy["status"];
  /** `null`: the gateway's default, `ATTESTATION_MODE`. */
  readonly mode: Policy["mode"] | null;
  readonly pin: Policy["pin"];
  /** Whether the publisher is told the caller's `traceparent`. */
  readonly forwardTrace: boolean;
  /** Whether the Agent Skills of the publisher's index are served. */
  readonly agentSkills: boolean;
  readonly agentSkillsPointer: SkillsPointer;
  readonly policyVersion: number;
  /** `version` of `trust_state`. */
  readonly trustVersion: number;
}

/** All that decides what of an origin is served. */
export interface Decided {
  readonly decisions: OriginDecisions;
  readonly trust: TrustInForce;
}
