import { describe, expect, it } from "vitest";
import { trustWith } from "../../core/attestation/fixture/policies.ts";
import { embeddedTrustRoot } from "../../core/attestation/trust-root.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import type { TrustInForce } from "../registry/trust.ts";
import type { OriginDecisions } from "../trust/decisions.ts";
import { PolicyCache } from "./policy.ts";
import type { GrantRow, PolicyReader } from "./policy-reader.ts";

const ORIGIN = "https://shop.example" as CanonicalOrigin;
const CLIENT = {
  clientId: "cli_1",
  rpm: null,
  dailyQuota: null,
  grantAll: false,
  expiresAt: null,
  tokenKind: "client",
} as const;

const ROW: GrantRow = {
  originId: "org_1",
  status: "active",
  mode: null,
  pin: "hold",
  forwardTrace: false,
  agentSkills: false,
  agentSkillsPointer: null,
  policyVersion: 1,
  trustVersion: 1,
  grantedByRow: true,
  rules: null,
};

function decisionsOf(version: number): OriginDecisions {
  return {
    version,
    mode: null,
    pin: "hold",
    forwardTrace: false,
    agentSkills: false,
    agentSkillsPointer: null,
    approved: new Map(),
    rejected: new Set(),
    stored: [],
    bytes: 100,
  };
}

function trustOf(version: number): TrustInForce {
  return { version, trust: trustWith(), trustRoot: embeddedTrustRoot() };
}

/** A database in memory behind the reader's border, with a clock that the test turns. */
function world() {
  const state = {
    now: 1_000_000,
    down: false,
    decisionsDown: false,
    reads: 0,
    tokens: new Map<
      string,
      { revokedAt: number | null; expiresAt: number | null; clientActive: boolean; lastUsedAt: number | null }
    >(),
    usesNoted: [] as string[],
    origin: ROW as GrantRow | null,
    decisions: decisionsOf(1),
    trust: trustOf(1),
    background: [] as Promise<unknown>[],
  };
  const read = async <T>(value: T): Promise<T> => {
    state.reads += 1;
    if (state.down) throw new Error("D1 is down");
    return value;
  };
  const reader: PolicyReader = {
    readToken: (sha256) => {
      const row = state.tokens.get(sha256);
      return read(row === undefined ? null : { ...CLIENT, ...row });
    },
    noteTokenUse: async (sha256, at) => {
      state.usesNoted.push(`${sha256} ${at}`);
      const row = state.tokens.get(sha256);
      if (row !== undefined) row.lastUsedAt = at;
    },
    readOrigin: () => read(state.origin),
    readImportedTokens: () => read([]),
    readDecisions: () => (state.decisionsDown ? Promise.reject(new Error("D1 is busy")) : read(state.decisions)),
    readTrust: () => read(state.trust),
  };
  const moment = { now: () => state.now, waitUntil: (work: Promise<unknown>) => void state.background.push(work) };
  return { state, cache: new PolicyCache(reader), moment };
}

const GOOD = { revokedAt: null, expiresAt: null, clientActive: true, lastUsedAt: 1_000_000 };

describe("PolicyCache", () => {
  it.each([
    [4_999, true],
    [5_000, true],
    [5_001, false],
  ])("[budget:policy-fresh] answers from an entry of %i ms without waiting for a read: %s", async (age, served) => {
    const { state, cache, moment } = world();
    state.tokens.set("t", GOOD);
    await cache.client("t", moment);
    state.tokens.set("t", { ...GOOD, revokedAt: 1 });
    state.now += age;
    expect((await cache.client("t", moment)) !== null).toBe(served);
  });

  it("writes a token's use down once a minute at most, of usable ones alone, and never waits for it", async () => {
    const { state, cache, moment } = world();
    state.tokens.set("t", { ...GOOD, lastUsedAt: null });
    state.tokens.set("gone", { ...GOOD, lastUsedAt: null, revokedAt: 1 });
    for (let used = 0; used < 40; used++) {
      await cache.client("t", moment);
      await cache.client("gone", moment);
      await Promise.all(state.background);
      state.now += 3_000;
    }
    expect(state.usesNoted).toEqual(["t 1000000", "t 1060000"]);
  });

  it("reads again what a clock that was set back leaves in the future", async () => {
    const { state, cache, moment } = world();
    state.tokens.set("t", GOOD);
    await cache.client("t", moment);
    state.tokens.set("t", { ...GOOD, revokedAt: 1 });
    state.now -= 600_000;
    expect(cache.knows("t", state.now)).toBe(false);
    expect(await cache.client("t", moment)).toBeNull();
  });

  it("keeps a revocation that it has seen when a slower, earlier read comes in after it", async () => {
    const answers: ((row: (typeof CLIENT & typeof GOOD) | null) => void)[] = [];
    const reader: PolicyReader = {
      readToken: () => new Promise((resolve) => void answers.push(resolve as (typeof answers)[0])),
      noteTokenUse: async () => {},
      readOrigin: async () => null,
      readImportedTokens: async () => [],
      readDecisions: async () => decisionsOf(1),
      readTrust: async () => trustOf(1),
    };
    const cache = new PolicyCache(reader);
    let now = 1_000_000;
    const moment = { now: () => now, waitUntil: () => {} };
    const slow = cache.client("t", moment);
    now += 500;
    const quick = cache.client("t", moment);
    answers[1]?.({ ...CLIENT, ...GOOD, revokedAt: 1 } as never);
    expect(await quick).toBeNull();
    answers[0]?.({ ...CLIENT, ...GOOD });
    await slow;
    expect(await cache.client("t", moment)).toBeNull();
  });

  it("reads a used entry again in the background before it grows old, so that nobody waits", async () => {
    const { state, cache, moment } = world();
    state.tokens.set("t", GOOD);
    await cache.client("t", moment);
    state.now += 3_000;
    await cache.client("t", moment);
    await cache.client("t", moment);
    await Promise.all(state.background);
    expect(state.reads).toBe(2);
    state.now += 4_000;
    await cache.client("t", moment);
    await Promise.all(state.background);
    expect(state.background.length).toBe(2);
  });

  it("[budget:policy-stale] with D1 down serves an entry of 60,000 ms and refuses with one of 60,001 ms", async () => {
    const { state, cache, moment } = world();
    state.tokens.set("t", GOOD);
    await cache.client("t", moment);
    await cache.grant(CLIENT, ORIGIN, moment);
    state.down = true;
    state.now += 60_000;
    expect(await cache.client("t", moment)).not.toBeNull();
    expect(await cache.grant(CLIENT, ORIGIN, moment)).not.toBeNull();
    state.now += 1;
    await expect(cache.client("t", moment)).rejects.toMatchObject({ code: "policy_unavailable" });
    await expect(cache.grant(CLIENT, ORIGIN, moment)).rejects.toMatchObject({ code: "policy_unavailable" });
  });

  it("asks a D1 that is down at most once a second while it has stale policy", async () => {
    const { state, cache, moment } = world();
    state.tokens.set("t", GOOD);
    await cache.client("t", moment);
    state.down = true;
    state.now += 10_000;
    for (let i = 0; i < 20; i++) await cache.client("t", moment);
    expect(state.reads).toBe(2);
    state.now += 1_000;
    await cache.client("t", moment);
    expect(state.reads).toBe(3);
  });

  it("fails closed: an unknown token with D1 down is policy_unavailable, not somebody", async () => {
    const { state, cache, moment } = world();
    state.down = true;
    await expect(cache.client("t", moment)).rejects.toMatchObject({ code: "policy_unavailable" });
  });

  it("refuses unknown, revoked, expired and suspended alike", async () => {
    const { state, cache, moment } = world();
    state.tokens.set("revoked", { ...GOOD, revokedAt: 1 });
    state.tokens.set("expired", { ...GOOD, expiresAt: state.now });
    state.tokens.set("suspended", { ...GOOD, clientActive: false });
    for (const token of ["unknown", "revoked", "expired", "suspended"])
      expect(await cache.client(token, moment)).toBeNull();
  });

  it("lets a token expire in memory at its very millisecond", async () => {
    const { state, cache, moment } = world();
    state.tokens.set("t", { ...GOOD, expiresAt: state.now + 100 });
    state.now += 99;
    expect(await cache.client("t", moment)).not.toBeNull();
    state.now += 1;
    expect(await cache.client("t", moment)).toBeNull();
    expect(state.reads).toBe(1);
  });

  it("grants active origins only, by a row of the client or by grantAll", async () => {
    const { state, cache, moment } = world();
    for (const status of ["pending", "active", "suspended", "revoked"] as const) {
      for (const grantedByRow of [true, false]) {
        for (const grantAll of [true, false]) {
          state.origin = { ...ROW, status, grantedByRow };
          cache.forget();
          const found = await cache.grant({ ...CLIENT, grantAll }, ORIGIN, moment);
          expect(found !== null).toBe(status === "active" && (grantedByRow || grantAll));
        }
      }
    }
    state.origin = null;
    cache.forget();
    expect(await cache.grant({ ...CLIENT, grantAll: true }, ORIGIN, moment)).toBeNull();
  });

  it("remembers that a token is unknown, for 5 s", async () => {
    const { state, cache, moment } = world();
    for (let i = 0; i < 10; i++) expect(await cache.client("t", moment)).toBeNull();
    expect(state.reads).toBe(1);
    state.tokens.set("t", GOOD);
    state.now += 5_001;
    expect(await cache.client("t", moment)).not.toBeNull();
  });

  it("[budget:negative-cache] forgets unknown tokens beyond 4,096, and no known one for them", async () => {
    const { state, cache, moment } = world();
    state.tokens.set("known", GOOD);
    await cache.client("known", moment);
    for (let i = 0; i < 4_097; i++) await cache.client(`junk ${i}`, moment);
    const before = state.reads;
    await cache.client("junk 4096", moment);
    await cache.client("junk 1", moment);
    await cache.client("known", moment);
    expect(state.reads - before).toBe(0);
    await cache.client("junk 0", moment);
    expect(state.reads - before).toBe(1);
  });

  it("sees a change at once after forget(), also one made during a read", async () => {
    const { state, cache, moment } = world();
    state.tokens.set("t", GOOD);
    const early = cache.client("t", moment);
    state.tokens.set("t", { ...GOOD, revokedAt: 1 });
    cache.forget();
    await early;
    expect(await cache.client("t", moment)).toBeNull();
  });
});

describe("decisions about an origin", () => {
  const grant = ({ cache, moment }: Pick<ReturnType<typeof world>, "cache" | "moment">, clientId = "cli_1") =>
    cache.grant({ ...CLIENT, clientId }, ORIGIN, moment);

  it("are the same objects for every client and every read, as long as their versions stand", async () => {
    const { state, cache, moment } = world();
    const first = await grant({ cache, moment });
    expect(state.reads).toBe(3);
    state.decisions = decisionsOf(1);
    state.now += 5_001;
    expect([await grant({ cache, moment }), await grant({ cache, moment }, "cli_2")]).toEqual([first, first]);
    const again = await grant({ cache, moment });
    expect(again?.decisions === first?.decisions && again?.trust === first?.trust).toBe(true);
    expect(state.reads).toBe(5);
  });

  it("[budget:policy-fresh] are read again where their version moved, at most 5 s later, and each alone", async () => {
    const { state, cache, moment } = world();
    const first = await grant({ cache, moment });
    state.origin = { ...ROW, policyVersion: 2 };
    state.decisions = decisionsOf(2);
    state.now += 5_000;
    expect((await grant({ cache, moment }))?.decisions.version).toBe(1);
    await Promise.all(state.background);
    state.now += 1;
    const second = await grant({ cache, moment });
    expect(second?.decisions.version).toBe(2);
    expect(second?.trust === first?.trust).toBe(true);
    state.origin = { ...ROW, policyVersion: 2, trustVersion: 2 };
    state.trust = trustOf(2);
    cache.forget();
    expect((await grant({ cache, moment }))?.trust.version).toBe(2);
  });

  it("read later than a row are newer than what it names, and serve it", async () => {
    const { state, cache, moment } = world();
    await grant({ cache, moment }, "cli_1");
    state.origin = { ...ROW, policyVersion: 2 };
    state.decisions = decisionsOf(2);
    await grant({ cache, moment }, "cli_2");
    const reads = state.reads;
    expect((await grant({ cache, moment }, "cli_1"))?.decisions.version).toBe(2);
    expect(state.reads).toBe(reads);
  });

  it("follow a version that went back, as after the restoration of a backup", async () => {
    const { state, cache, moment } = world();
    state.origin = { ...ROW, policyVersion: 9 };
    state.decisions = decisionsOf(9);
    await grant({ cache, moment });
    state.origin = { ...ROW, policyVersion: 3 };
    state.decisions = decisionsOf(3);
    state.now += 5_001;
    expect((await grant({ cache, moment }))?.decisions.version).toBe(3);
  });

  it("[budget:policy-stale] are served with their row for 60 s where they alone cannot be read, then refused", async () => {
    const { state, cache, moment } = world();
    await grant({ cache, moment });
    state.origin = { ...ROW, policyVersion: 2 };
    state.decisionsDown = true;
    state.now += 60_000;
    expect((await grant({ cache, moment }))?.decisions.version).toBe(1);
    state.now += 1;
    await expect(grant({ cache, moment })).rejects.toMatchObject({ code: "policy_unavailable" });
  });
});
