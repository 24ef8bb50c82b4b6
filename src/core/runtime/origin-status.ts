import type { WithheldSkill } from "../catalog.ts";
import type { DiscoveryFailureReason } from "../discovery/discovery-error.ts";
import type { DiscoveryProgress } from "../discovery/progress.ts";
import type { Rejection, Release } from "../discovery/release.ts";
import type { Sha256Hex } from "../integrity.ts";
import type { CanonicalOrigin } from "../origin.ts";
import type { PublicName, SkillId } from "../skill.ts";

/** What has become of one origin of a runtime. */
export type OriginStatus =
  /** Its first discovery is under way. */
  | { readonly state: "discovering"; readonly origin: CanonicalOrigin }
  /** There is a release, though maybe nothing in it that may be used. */
  | {
      readonly state: "discovered";
      readonly origin: CanonicalOrigin;
      readonly release: Release;
      /** Verified skills that are not served. */
      readonly refused: readonly RefusedSkill[];
      /** Why the latest look at the origin gave nothing newer; `null` where it did. */
      readonly failure: OriginFailure | null;
    }
  /** It has given nothing to serve so far, or it has withdrawn what it had. */
  | { readonly state: "failed"; readonly origin: CanonicalOrigin; readonly failure: OriginFailure };

export interface OriginFailure {
  /** `internal`: a fault of the host, such as no free sandbox. */
  readonly code: "discovery_failed" | "no_skills" | "internal";
  readonly reason: DiscoveryFailureReason | "internal";
  /** One English sentence. */
  readonly message: string;
  /** What the publisher got wrong in lines that might have been meant to be executable. */
  readonly rejected: readonly Rejection[];
}

export interface RefusedSkill extends SkillId {
  readonly toolSha256: Sha256Hex;
  readonly code: WithheldSkill["code"] | PinRefusalCode;
  /** One English sentence. */
  readonly message: string;
}

/** `pin_mismatch`: it is not what was pinned. `not_pinned`: it is new, and only what was pinned may be used. `pin_not_kept`: it is new, and could not be pinned. */
export type PinRefusalCode = "pin_mismatch" | "not_pinned" | "pin_not_kept";

/** What a runtime tells while it works, for people who watch. */
export type RuntimeEvent =
  | { readonly kind: "discovering"; readonly origin: CanonicalOrigin }
  | { readonly kind: "progress"; readonly origin: CanonicalOrigin; readonly progress: DiscoveryProgress }
  | {
      readonly kind: "discovered";
      readonly status: Extract<OriginStatus, { state: "discovered" }>;
      /** What of it is served, without the prefixes that several origins have. */
      readonly served: readonly PublicName[];
      /** How many recipes are served with it. */
      readonly recipes: number;
      /** How many of its memories a served tool can search. */
      readonly memories: number;
      readonly ms: number;
    }
  | {
      readonly kind: "failed";
      readonly status: Exclude<OriginStatus, { state: "discovering" }>;
      readonly failure: OriginFailure;
      readonly ms: number;
    }
  /** The others are served from now on; these origins are added as soon as they have been looked at. */
  | { readonly kind: "served_without"; readonly origins: readonly CanonicalOrigin[] }
  /** A client that lists again sees something else than before. */
  | { readonly kind: "list_changed" };
