import { establishFacts, type TrustedReviewers, trustIn } from "../attestation/trusted-reviewers.ts";
import { admit, type Catalog, type CatalogSkill, type Policy, versionKey } from "../catalog.ts";
import { type DiscoverOptions, discover } from "../discovery/discover.ts";
import { DiscoveryCache } from "../discovery/discovery-cache.ts";
import { DiscoveryError } from "../discovery/discovery-error.ts";
import type { Rejection, Release } from "../discovery/release.ts";
import type { OriginFetcher } from "../fetch/origin-fetch.ts";
import type { Sha256Hex } from "../integrity.ts";
import type { CanonicalOrigin } from "../origin.ts";
import { servedRecipes } from "../serve-recipes.ts";
import type { SkillId } from "../skill.ts";
import type { OriginFailure, OriginStatus, PinRefusalCode, RefusedSkill, RuntimeEvent } from "./origin-status.ts";

/** A publisher, and the way to it. */
export interface RuntimeOrigin {
  readonly origin: CanonicalOrigin;
  readonly fetch: OriginFetcher;
  /** Its files are being edited: each look fetches all of them, also what a declared hash says to be known. Default: false. */
  readonly isEdited?: boolean;
}

/** Which attestations a runtime asks for. */
export interface RequiredAttestations extends TrustedReviewers {
  /** Default: `enforcing`, only what one of the reviewers attests is served; with `advisory` the verdict ends a tool's description. */
  readonly mode?: "advisory" | "enforcing";
}

/**
 * Compares what was discovered, and otherwise may be used, with what was pinned before, and pins what is new. What it answers is not served.
 * Called once for each look at an origin, never twice at the same time for one origin; must not reject.
 *
 * @param rejected what could not be had or did not verify: a skill that lacks its recipe for that has one all the same.
 */
export type CheckPins = (
  origin: CanonicalOrigin,
  skills: readonly CatalogSkill[],
  rejected: readonly Rejection[],
) => readonly PinRefusal[] | Promise<readonly PinRefusal[]>;

export interface PinRefusal extends SkillId {
  readonly code: PinRefusalCode;
  /** One English sentence. */
  readonly message: string;
}

export interface OriginRuntimeOptions
  extends Pick<DiscoverOptions, "sandbox" | "limits" | "now" | "loadGas" | "unverifiedRecipes"> {
  readonly attestations: RequiredAttestations | null;
  readonly checkPins: CheckPins | undefined;
  onEvent(event: RuntimeEvent): void;
}

interface Discovered {
  readonly release: Release;
  readonly policy: Policy;
  /** By `versionKey`: what was found admissible when the origin was looked at. */
  readonly pinned: ReadonlySet<string>;
  readonly refusals: readonly PinRefusal[];
}

/** One origin of a runtime: what was last discovered of it, and what of that may be used. */
export class OriginRuntime {
  readonly origin: CanonicalOrigin;
  readonly fetch: OriginFetcher;
  readonly #isEdited: boolean;
  readonly #options: OriginRuntimeOptions;
  readonly #cache: DiscoveryCache;
  readonly #closing = new AbortController();
  #discovered: Discovered | null = null;
  #failure: OriginFailure | null = null;
  #looking: Promise<void> | null = null;
  #served: { readonly from: Catalog; readonly catalog: Catalog } | null = null;

  constructor({ origin, fetch, isEdited = false }: RuntimeOrigin, options: OriginRuntimeOptions) {
    this.origin = origin;
    this.fetch = fetch;
    this.#isEdited = isEdited;
    this.#options = options;
    this.#cache = new DiscoveryCache(options.now);
  }

  get status(): OriginStatus {
    const { origin } = this;
    const failure = this.#failure;
    if (this.#discovered !== null) {
      const { release } = this.#discovered;
      return { state: "discovered", origin, release, refused: this.#refused(this.#discovered), failure };
    }
    return failure === null ? { state: "discovering", origin } : { state: "failed", origin, failure };
  }

  /** What may be used now; `null` where there is nothing to choose from. */
  get catalog(): Catalog | null {
    if (this.#discovered === null) return null;
    const { release, policy, pinned } = this.#discovered;
    const from = admit(release, policy, this.#options.now());
    if (this.#served?.from !== from) {
      const skills = from.skills.filter(({ skill }) => pinned.has(versionKey(skill)));
      this.#served = { from, catalog: { ...from, skills } };
    }
    return this.#served.catalog;
  }

  /** Looks at the origin again. Whoever asks while that is under way waits for it. Never rejects. */
  refresh(): Promise<void> {
    this.#looking ??= this.#refresh().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** Ends a look that is under way. */
  close(): void {
    this.#closing.abort();
  }

  async #refresh(): Promise<void> {
    const { onEvent } = this.#options;
    const begin = performance.now();
    onEvent({ kind: "discovering", origin: this.origin });
    try {
      this.#discovered = await this.#discover();
      this.#failure = null;
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const failure = failureOf(error);
      this.#failure = failure;
      // An origin that answers and offers nothing has withdrawn what it had; one that does not answer has not.
      if (failure.code === "no_skills") this.#discovered = null;
      const ms = performance.now() - begin;
      const { status } = this;
      if (status.state !== "discovering") onEvent({ kind: "failed", status, failure, ms });
      return;
    }
    if (this.#closing.signal.aborted) return;
    const { status } = this;
    if (status.state !== "discovered") return;
    onEvent({ kind: "discovered", status, ...this.#offer(), ms: performance.now() - begin });
  }

  #offer() {
    const { catalog } = this;
    if (catalog === null) return { served: [], recipes: 0, memories: 0 };
    const { skills, memories } = catalog;
    return {
      served: skills.map(({ skill }) => skill.publicName),
      recipes: servedRecipes(catalog, this.#options.unverifiedRecipes ?? "withhold").length,
      memories: memories.filter(({ scope }) => skills.some(({ skill }) => skill.scope === scope)).length,
    };
  }

  async #discover(): Promise<Discovered> {
    const { attestations, checkPins, onEvent, ...discovering } = this.#options;
    const { origin, fetch } = this;
    const last = this.#discovered?.release ?? null;
    const held = heldBytes(this.#isEdited ? null : last);
    const release = await discover({
      ...discovering,
      origin,
      fetch,
      cache: this.#cache,
      signal: this.#closing.signal,
      held: (sha256) => held.get(sha256),
      last: async () => last,
      onProgress: (progress) => onEvent({ kind: "progress", origin, progress }),
    });
    const policy = await policyOn(release, attestations);
    const { skills } = admit(release, policy, discovering.now());
    const refusals = (await checkPins?.(origin, skills, release.rejected)) ?? [];
    const refused = new Set(refusals.map(nameOf));
    const pinned = new Set(skills.flatMap(({ skill }) => (refused.has(nameOf(skill)) ? [] : [versionKey(skill)])));
    return { release, policy, pinned, refusals };
  }

  #refused({ release, policy, refusals }: Discovered): readonly RefusedSkill[] {
    const { skills, withheld } = admit(release, policy, this.#options.now());
    const byName = new Map(refusals.map((refusal) => [nameOf(refusal), refusal]));
    const unpinned = skills.flatMap(({ skill: { scope, name, toolSha256 } }): RefusedSkill[] => {
      const refusal = byName.get(nameOf({ scope, name }));
      return refusal === undefined ? [] : [{ ...refusal, toolSha256 }];
    });
    return [...withheld, ...unpinned];
  }
}

function nameOf({ scope, name }: SkillId): string {
  return JSON.stringify([scope, name]);
}

/** Whoever points a runtime at an origin has opted in to all of its skills, as far as they are attested where that is asked for. */
async function policyOn(release: Release, attestations: RequiredAttestations | null): Promise<Policy> {
  const evidence = release.attestations.map((attestation) => ({ attestation, storedAt: null }));
  const judged = release.skills.map(({ name, toolSha256 }) => ({ origin: release.origin, name, toolSha256 }));
  return {
    status: "active",
    granted: true,
    mode: attestations === null ? "off" : (attestations.mode ?? "enforcing"),
    pin: "off",
    approved: new Map(),
    rejected: new Set(),
    trust: attestations === null ? NO_TRUST : trustIn(attestations),
    stored: [],
    facts: attestations === null ? new Map() : await establishFacts(judged, evidence, attestations),
    tools: null,
  };
}

const NO_TRUST: Policy["trust"] = {
  reviewers: [],
  revokedAttestations: new Set(),
  revokedHashes: new Set(),
  trustRootId: "",
};

/** By hash: what need not be fetched again. */
function heldBytes(release: Release | null): ReadonlyMap<Sha256Hex, Uint8Array> {
  const held = new Map<Sha256Hex, Uint8Array>();
  for (const { toolSha256, source } of release?.skills ?? []) held.set(toolSha256, source);
  for (const { sha256, bytes } of release?.memories ?? []) held.set(sha256, bytes);
  return held;
}

function failureOf(error: unknown): OriginFailure {
  if (error instanceof DiscoveryError) {
    const { code, reason, message, rejected } = error;
    return { code, reason, message, rejected };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: "internal", reason: "internal", message, rejected: [] };
}
