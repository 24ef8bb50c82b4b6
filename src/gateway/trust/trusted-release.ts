import { admit, skillKey } from "../../core/catalog.ts";
import type { LastServed } from "../../core/discovery/discover.ts";
import type { Release } from "../../core/discovery/release.ts";
import { NO_INDEX } from "../../core/discovery/skills-index.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import { DEFAULT_DISCOVERY_LIMITS } from "../../core/limits.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { type PolicyCache, policyOf } from "../auth/policy.ts";
import { withDeadline } from "../deadline.ts";
import { type Env, readSettings } from "../env.ts";
import { describeFailure } from "../log.ts";
import { isHosted } from "../publishing/site-fetch.ts";
import { compareWithApproved, readApproved } from "../registry/approved.ts";
import { openRegistry } from "../registry/database.ts";
import { publishedAttestations, readPublication } from "../registry/publications.ts";
import { type ShippedBefore, withCarried } from "./carried-attestations.ts";
import type { Decided, OriginTerms } from "./decisions.ts";
import { approvedBefore, approvedVersions } from "./held-versions.ts";
import { LastPublication } from "./last-publication.ts";
import { policyFor, questionsOf } from "./served-policy.ts";
import { answerQuestions } from "./signature-facts.ts";
import { type JudgedVersion, noteVerdicts } from "./verdict-history.ts";

/** What one discovery may spend on signatures, in the units of `answerQuestions`: some 0.3 s for 20 bundles beside all signatures. */
const DISCOVERY_BUDGET = 1_000 + 20 * 50;

/** What is read of the store when the decisions are known: up to 512 reads, where 256 versions are held. */
const STORE_WAIT_MS = 8_000;

/** What nobody keeps of a release but its hub. */
const REST = { prose: [], held: [], facts: [], index: NO_INDEX, rejected: [] } as const;

/** What is decided of an origin, while it is read. */
export type Deciding = ReturnType<PolicyCache["originNow"]>;

type DecidedOrigin = Decided & Pick<OriginTerms, "originId" | "status">;

/** A release, and the decisions that chose what it holds. */
export interface Followed {
  readonly release: Release;
  /** As in `ReleaseHead`. */
  readonly policyVersion: number;
}

export interface Completed extends Followed {
  /** Something is left for the next discovery: signatures, or all of it while the database does not answer. */
  readonly isPartial: boolean;
  /** Writes down in the background what became of it: its verdicts, and what the origin published. For whoever holds it from now on. */
  writeDown(): void;
}

const NOTHING_TO_WRITE = () => {};

/**
 * What a hub adds to what it discovered, from the operator's database: the approved versions of skills that changed, and facts about the
 * signatures of the reviewers registered by now. Without the database a release is as good as before: what the hub had stays.
 */
export class TrustedRelease {
  readonly #env: Env;
  readonly #waitUntil: (work: Promise<unknown>) => void;
  readonly #published: LastPublication;
  /** What was last written to the history. */
  #noted = "";
  #noting: Promise<void> = Promise.resolve();
  /** As far as anybody knows while the database does not answer. */
  #status: OriginTerms["status"] | null = null;
  #revoked: ReadonlySet<Sha256Hex> = new Set();
  #readsSkills = false;

  constructor(env: Env, waitUntil: (work: Promise<unknown>) => void) {
    this.#env = env;
    const answer = readSettings(env);
    const { memoryBytes } = answer.ok ? answer.settings.discovery : DEFAULT_DISCOVERY_LIMITS;
    this.#published = new LastPublication(openRegistry(env.DB), memoryBytes);
    this.#waitUntil = waitUntil;
  }

  /** Reads what is decided of the origin, beside its discovery; for {@link complete}. */
  decide(origin: CanonicalOrigin): Deciding {
    const deciding = policyOf(this.#env.DB).originNow(origin);
    // Whoever awaits it hears of it; a discovery that fails first awaits nothing.
    deciding.catch(() => {});
    return deciding;
  }

  /** The origin's status, or the last one known while the database does not answer; `null`: none is. Never rejects. */
  async statusOf(deciding: Deciding): Promise<OriginTerms["status"] | null> {
    await this.#learn(deciding);
    return this.#status;
  }

  /** The hashes that run nowhere, or the last ones known while the database does not answer. Never rejects. */
  async revokedHashes(deciding: Deciding): Promise<ReadonlySet<Sha256Hex>> {
    await this.#learn(deciding);
    return this.#revoked;
  }

  /** What the operator's own store has of what the origin last published, or `null`. Never rejects. */
  async lastPublished(deciding: Deciding): Promise<LastServed | null> {
    try {
      const decided = await deciding;
      if (decided === null || !isRestorable(decided)) return null;
      return await withDeadline(readPublication(openRegistry(this.#env.DB), decided.originId), STORE_WAIT_MS);
    } catch (error) {
      console.warn(JSON.stringify({ event: "publication_not_read", error: describeFailure(error) }));
      return null;
    }
  }

  /**
   * Whether the origin is worth serving without a tool: a site hosted here has its Agent Skills besides, and of others an operator said that theirs
   * are read. As far as anybody knows while the database does not answer. Never rejects.
   */
  async mayLackTools(origin: CanonicalOrigin, deciding: Deciding): Promise<boolean> {
    return (await this.readsSkills(deciding)) || (await isHosted(this.#env, origin));
  }

  /** Whether an operator wants the Agent Skills of the origin's index, as far as anybody knows while the database does not answer. Never rejects. */
  async readsSkills(deciding: Deciding): Promise<boolean> {
    await this.#learn(deciding);
    return this.#readsSkills;
  }

  async #learn(deciding: Deciding): Promise<void> {
    const decided = await deciding.catch(() => null);
    if (decided === null) return;
    this.#forgetUnlessRestorable(decided);
    this.#status = decided.status;
    this.#revoked = decided.trust.trust.revokedHashes;
    this.#readsSkills = decided.decisions.agentSkills;
  }

  /** Of a revoked origin, and of one that is not pinned to approved code, nothing is ever restored: what it published need not be kept. */
  #forgetUnlessRestorable({ originId, status, decisions }: DecidedOrigin): void {
    if (status === "revoked" || decisions.pin !== "hold") this.#waitUntil(this.#published.forget(originId));
  }

  /**
   * Never rejects.
   *
   * @param previous what the hub had before.
   */
  async complete(discovered: Release, previous: Followed | null, deciding: Deciding): Promise<Completed> {
    try {
      const decided = await deciding;
      return decided === null
        ? { release: discovered, policyVersion: 0, isPartial: false, writeDown: NOTHING_TO_WRITE }
        : await this.#complete(discovered, previous, decided);
    } catch (error) {
      console.warn(JSON.stringify({ event: "trust_not_read", error: describeFailure(error) }));
      const release = previous === null ? discovered : carryOver(discovered, previous.release);
      return { release, policyVersion: 0, isPartial: true, writeDown: NOTHING_TO_WRITE };
    }
  }

  async #complete(discovered: Release, previous: Followed | null, decided: DecidedOrigin): Promise<Completed> {
    const { originId, decisions, trust } = decided;
    const registry = openRegistry(this.#env.DB);
    const { version: policyVersion } = decisions;
    const approved = await approvedVersions(discovered, decisions.approved, {
      before: previous?.policyVersion === policyVersion ? previous.release : null,
      readVersions: (wanted) => withDeadline(readApproved(registry, originId, wanted), STORE_WAIT_MS),
      compare: (skills) => withDeadline(compareWithApproved(registry, originId, skills), STORE_WAIT_MS),
    });
    const bare: Release = { ...discovered, ...approved };
    const before = previous?.release ?? (approved.held.length === 0 ? null : await this.#shippedBefore(decided));
    const withHeld: Release = { ...bare, attestations: withCarried(bare, before) };
    const { facts, isPartial } = await answerQuestions(
      questionsOf(withHeld, decisions.stored, trust.trust),
      new Map(previous?.release.facts),
      trust.trustRoot,
      DISCOVERY_BUDGET,
    );
    const release: Release = { ...withHeld, facts: [...facts] };
    const now = Date.now();
    const writeDown = () => {
      this.#waitUntil(this.#noteNext(release, originId, { decisions, trust }, now));
      if (isRestorable(decided)) this.#waitUntil(this.#published.keep(originId, release));
      else this.#forgetUnlessRestorable(decided);
    };
    return { release, policyVersion, isPartial, writeDown };
  }

  /** For a hub that has no release of its own. */
  async #shippedBefore(decided: DecidedOrigin): Promise<ShippedBefore | null> {
    if (!isRestorable(decided)) return null;
    const registry = openRegistry(this.#env.DB);
    const attestations = await withDeadline(publishedAttestations(registry, decided.originId), STORE_WAIT_MS);
    return { attestations, facts: [] };
  }

  /** The origin answers and offers nothing: nothing of it is to be restored. Never rejects. */
  async withdraw(deciding: Deciding): Promise<void> {
    const decided = await deciding.catch(() => null);
    if (decided !== null) await this.#published.keep(decided.originId, null);
  }

  /**
   * A release of what the operator approved and keeps, for a hub that has nothing while the origin fails: of each skill that the origin last
   * listed the version approved last, where the origin is pinned to approved code, with the memories and attestations that it last published.
   * `null`: there is none, or the database does not say.
   *
   * @param fetchedAt of the release; nobody knows when the origin last confirmed it.
   */
  async restore(origin: CanonicalOrigin, fetchedAt: number): Promise<Followed | null> {
    try {
      const found = await policyOf(this.#env.DB).originNow(origin);
      if (found === null) return null;
      this.#forgetUnlessRestorable(found);
      if (!isRestorable(found)) return null;
      const { originId, decisions, trust } = found;
      const registry = openRegistry(this.#env.DB);
      const published = await withDeadline(readPublication(registry, originId), STORE_WAIT_MS);
      const wanted = (published?.listed ?? []).flatMap(({ scope, name }) => {
        const [newest] = decisions.approved.get(skillKey({ scope, name })) ?? [];
        return newest === undefined ? [] : [{ scope, name, toolSha256: newest.toolSha256 }];
      });
      const skills =
        wanted.length === 0 ? [] : await withDeadline(readApproved(registry, originId, wanted), STORE_WAIT_MS);
      if (published === null || skills.length === 0) return null;
      const { attestations, memories } = published;
      const confirmed = skills.map(({ publicName }) => publicName);
      const bare: Release = { ...REST, origin, fetchedAt, skills, confirmed, attestations, memories };
      const questions = questionsOf(bare, decisions.stored, trust.trust);
      const { facts } = await answerQuestions(questions, new Map(), trust.trustRoot, DISCOVERY_BUDGET);
      return { release: { ...bare, facts: [...facts] }, policyVersion: decisions.version };
    } catch (error) {
      console.warn(JSON.stringify({ event: "release_not_restored", error: describeFailure(error) }));
      return null;
    }
  }

  /** One after the other, as they were found. Never rejects. */
  #noteNext(release: Release, originId: string, decided: Decided, now: number): Promise<void> {
    this.#noting = this.#noting.then(() => this.#noteVerdicts(release, originId, decided, now));
    return this.#noting;
  }

  /** Never rejects. */
  async #noteVerdicts(release: Release, originId: string, decided: Decided, now: number): Promise<void> {
    try {
      const settings = readSettings(this.#env);
      if (!settings.ok) return;
      const policy = await policyFor(release, decided, settings.settings.attestationMode);
      if (policy.mode === "off") return;
      // In this mode nothing is left out for its verdict.
      const { skills } = admit(release, { ...policy, mode: "advisory" }, now);
      const judged = skills.flatMap(({ skill, verdict }): JudgedVersion[] => {
        const { scope, name, toolSha256 } = skill;
        return verdict === null ? [] : [{ scope, name, toolSha256, verdict }];
      });
      const text = JSON.stringify(judged);
      if (judged.length === 0 || text === this.#noted) return;
      await noteVerdicts(openRegistry(this.#env.DB), originId, judged, now);
      this.#noted = text;
    } catch (error) {
      console.warn(JSON.stringify({ event: "verdicts_not_written", error: describeFailure(error) }));
    }
  }
}

/** Whether what the operator approved and keeps may stand for what the origin publishes. */
function isRestorable({ status, decisions }: DecidedOrigin): boolean {
  return status === "active" && decisions.pin === "hold";
}

/** What was approved, and facts, are true whatever was decided since. */
function carryOver(discovered: Release, previous: Release): Release {
  const release: Release = { ...discovered, ...approvedBefore(discovered, previous) };
  const attestations = withCarried(release, previous);
  const ids = new Set<string>(attestations.map(({ proofId }) => proofId));
  return {
    ...release,
    attestations,
    // A fact's key begins with the `proofId` of its attestation.
    facts: previous.facts.filter(([factKey]) => ids.has(factKey.slice(0, 64))),
  };
}
