import type { Rejection, Release, ReleaseMemory, ReleaseSkill } from "../../core/discovery/release.ts";
import { SnapshotError, type SnapshotErrorCode } from "../../core/memory/snapshot-error.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { withDeadline } from "../deadline.ts";
import type { PastOutcome } from "../durable/discovery-history.ts";
import type { HubAnswer, HubFailure, HubInspection, HubStatus, Watcher } from "../durable/hub-answer.ts";
import type { OriginHub } from "../durable/origin-hub.ts";
import type { Env } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { passingIndexes } from "../memory-indexes.ts";
import { unpackRelease } from "./packed-release.ts";

/** A discovery has its own deadline (15 s by default); this one catches a hub that does not answer at all. */
const HUB_TIMEOUT_MS = 70_000;

/** How long who changed something, or looks at all hubs, waits for one of them: it may be in the middle of a discovery. */
export const HUB_WAIT_MS = 2_000;

export interface ProbedMemory {
  readonly scope: string | null;
  readonly sha256: string;
  readonly bytes: number;
  /** Why it cannot be searched, although it has its hash. */
  readonly failure: { readonly code: SnapshotErrorCode; readonly message: string } | null;
}

export type ProbeResult =
  | {
      readonly ok: true;
      /** Epoch milliseconds. */
      readonly fetchedAt: number;
      /** With the exact bytes of their sources and recipes. */
      readonly skills: readonly ReleaseSkill[];
      readonly prose: Release["prose"];
      readonly memories: readonly ProbedMemory[];
      /** Entries of the publisher's `attestations.json`. */
      readonly attestations: Release["attestations"];
      /** What the hub established about their proofs. */
      readonly facts: Release["facts"];
      readonly index: Release["index"];
      readonly rejected: readonly Rejection[];
    }
  | ({ readonly ok: false } & HubFailure);

/**
 * Has the origin's hub discover it now, whatever is cached, and returns what it found.
 *
 * @param watch told of every fetch and every hash as it comes.
 * @throws {GatewayError} `discovery_failed` where the hub itself does not answer; a failing publisher is a result.
 */
export async function probeOrigin(
  env: Env,
  origin: CanonicalOrigin,
  watch: Watcher | null = null,
): Promise<ProbeResult> {
  const answer = await ask(env, origin, (hub) => hub.probe(origin, watch));
  if (!answer.ok) return { ok: false, ...answer.failure };
  if (answer.packed === null) throw new Error("A probe always returns the release.");
  const release = unpackRelease(answer.packed);
  return {
    ok: true,
    fetchedAt: release.fetchedAt,
    skills: release.skills,
    prose: release.prose,
    memories: await probeMemories(release.memories),
    attestations: release.attestations,
    facts: release.facts,
    index: release.index,
    rejected: release.rejected,
  };
}

/** One after the other: each takes up to a quarter of a second, in slices between which others go on. */
async function probeMemories(memories: Release["memories"]): Promise<readonly ProbedMemory[]> {
  const probed: ProbedMemory[] = [];
  for (const memory of memories) {
    const { scope, sha256, bytes } = memory;
    probed.push({ scope, sha256, bytes: bytes.length, failure: await failureOf(memory) });
  }
  return probed;
}

async function failureOf(memory: ReleaseMemory): Promise<ProbedMemory["failure"]> {
  try {
    await passingIndexes.build(memory, () => {}, new AbortController().signal);
    return null;
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    return { code: error.code, message: error.message };
  }
}

/**
 * Asks the origin's hub for its release; its bytes travel only when `knownVersion` is another.
 *
 * @param policyVersion of the decisions that the caller knows: what the hub holds then follows them, or later ones.
 * @throws {GatewayError} `discovery_failed` where the hub does not answer.
 */
export function askHub(
  env: Env,
  origin: CanonicalOrigin,
  knownVersion: string | null,
  policyVersion = 0,
): Promise<HubAnswer> {
  return ask(env, origin, (hub) => hub.get(origin, knownVersion, policyVersion));
}

/**
 * Has the hub refresh its release where it is not fresh.
 *
 * @throws {GatewayError} `discovery_failed` where the hub does not answer.
 */
export function wakeHub(env: Env, origin: CanonicalOrigin): Promise<void> {
  return ask(env, origin, (hub) => hub.wake(origin));
}

/**
 * What the hub holds, without a question to the origin.
 *
 * @throws {GatewayError} `discovery_failed` where the hub does not answer, as do the next two.
 */
export function inspectHub(env: Env, origin: CanonicalOrigin): Promise<HubInspection> {
  return ask(env, origin, async (hub) => hub.inspect());
}

/** The attestations of the release that the hub holds. */
export function shippedWithRelease(
  env: Env,
  origin: CanonicalOrigin,
): Promise<Pick<Release, "attestations" | "facts">> {
  return ask(env, origin, async (hub) => hub.shipped());
}

/** How an origin fares. */
export function hubStatus(env: Env, origin: CanonicalOrigin): Promise<HubStatus> {
  return ask(env, origin, async (hub) => hub.status());
}

/** How the hub's last discoveries ended, newest first. */
export function discoveryHistory(env: Env, origin: CanonicalOrigin): Promise<readonly PastOutcome[]> {
  return ask(env, origin, async (hub) => hub.history());
}

/**
 * Has the hub take what it holds to the operator's latest decisions.
 *
 * @throws {GatewayError} `discovery_failed` where the hub does not answer.
 */
export function reconsiderHub(env: Env, origin: CanonicalOrigin): Promise<void> {
  return ask(env, origin, (hub) => hub.reconsider(origin));
}

/**
 * Has the hub discover its origin now, where it served anybody.
 *
 * @throws {GatewayError} `discovery_failed` where the hub does not answer.
 */
export function refreshHub(env: Env, origin: CanonicalOrigin): Promise<void> {
  return ask(env, origin, (hub) => hub.refresh(origin));
}

/**
 * Has the hub serve nothing of its origin any more, until a discovery finds something.
 *
 * @throws {GatewayError} `discovery_failed` where the hub does not answer.
 */
export function withdrawAtHub(env: Env, origin: CanonicalOrigin): Promise<void> {
  return ask(env, origin, (hub) => hub.withdraw(origin));
}

/** The hub's methods as a caller sees them; the platform's own type of a stub recurses without end on JSON values. */
type HubStub = Pick<
  OriginHub,
  "get" | "probe" | "refresh" | "withdraw" | "reconsider" | "shipped" | "wake" | "inspect" | "status" | "history"
>;

async function ask<T>(env: Env, origin: CanonicalOrigin, question: (hub: HubStub) => Promise<T>): Promise<T> {
  try {
    const stub = env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin)) as unknown as HubStub;
    return await withDeadline(question(stub), HUB_TIMEOUT_MS);
  } catch (cause) {
    throw new GatewayError("discovery_failed", { message: "The origin's hub did not answer.", cause });
  }
}
