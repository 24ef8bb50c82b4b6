import type { DiscoveryProgress } from "../../core/discovery/progress.ts";
import type { Rejection } from "../../core/discovery/release.ts";
import type { InspectedRelease } from "../releases/inspection.ts";
import type { PackedRelease, ReleaseHead } from "../releases/packed-release.ts";

export interface HubFailure {
  readonly code: "discovery_failed" | "no_skills";
  /** One English sentence, fit for any caller. */
  readonly message: string;
  /** Lines that might have been meant to be executable, and what is wrong with them: for the operator. */
  readonly rejected: readonly Rejection[];
}

/** `hub`: the hub had it. `miss`: it was fetched for this request. `stale`: the origin fails, this is the last known good one. */
export type HubState = "hub" | "miss" | "stale";

export type HubAnswer =
  | ({
      readonly ok: true;
      readonly state: HubState;
      /** `null` where the caller said it holds this version. */
      readonly packed: PackedRelease | null;
    } & ReleaseHead)
  | { readonly ok: false; readonly failure: HubFailure };

/** How an origin fares, for operators. */
export interface HubStatus {
  /** Of what is held; `null`: nothing is. */
  readonly fetchedAt: number | null;
  /** How the last discovery failed; `null`: it did not, or nobody remembers. */
  readonly failure: { readonly at: number; readonly code: HubFailure["code"]; readonly message: string } | null;
  /** Skills of the last release that are not served as published: refused, and held back beside approved ones. */
  readonly rejected: number;
  readonly held: number;
}

/** What a hub holds, for operators who look. */
export interface HubInspection {
  /** `null`: nothing. */
  readonly inspected: InspectedRelease | null;
  readonly failure: ({ readonly at: number } & HubFailure) | null;
}

/** Told of what a discovery does, while somebody watches. */
export type Watcher = (progress: DiscoveryProgress) => unknown;
