import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { env } from "../../../test/workerd/gateway-fixture.ts";
import type { Release, ReleaseSkill } from "../../core/discovery/release.ts";
import { NO_INDEX } from "../../core/discovery/skills-index.ts";
import { sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { toPublicName } from "../../core/skill.ts";
import {
  MAX_PACKED_BYTES,
  packedBytes,
  packRelease,
  ReleaseTooLarge,
  unpackRelease,
} from "../releases/packed-release.ts";
import { CHUNK_BYTES, ReleaseStore } from "./release-store.ts";

async function skill(name: string, source: Uint8Array, recipe: string | null = null): Promise<ReleaseSkill> {
  const id = { scope: null, name };
  return {
    ...id,
    publicName: toPublicName(id),
    description: "",
    version: null,
    toolSha256: await sha256Hex(source),
    source,
    definition: { name, inputSchema: { type: "object" } },
    recipe:
      recipe === null
        ? null
        : { sha256: await sha256Hex(new TextEncoder().encode(recipe)), text: recipe, verified: true },
  };
}

function release(skills: ReleaseSkill[], more: Partial<Release> = {}): Release {
  const origin = "https://shop.example" as CanonicalOrigin;
  return {
    origin,
    fetchedAt: 1,
    skills,
    memories: [],
    prose: [],
    held: [],
    confirmed: [],
    attestations: [],
    facts: [],
    index: NO_INDEX,
    rejected: [],
    ...more,
  };
}

function inStorage<T>(work: (store: ReleaseStore, storage: DurableObjectStorage) => Promise<T>): Promise<T> {
  const stub = env.ORIGIN_HUB.get(env.ORIGIN_HUB.newUniqueId());
  return runInDurableObject(stub, (_object, state) => work(new ReleaseStore(state.storage), state.storage));
}

const filled = (bytes: number) => new Uint8Array(bytes).map((_, i) => (i * 31) & 255);
const names = ({ sql }: DurableObjectStorage) =>
  sql
    .exec<{ name: string }>("SELECT DISTINCT name FROM chunks ORDER BY name")
    .toArray()
    .map((row) => row.name);

describe("ReleaseStore", () => {
  it.each([0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 4 * CHUNK_BYTES])(
    "[budget:storage-chunk] gives back an artifact of %i bytes, byte for byte, in chunks of at most 1 MiB",
    async (size) => {
      const bytes = filled(size);
      const sha256 = await sha256Hex(bytes);
      await inStorage(async (store, { sql }) => {
        const memories = [{ scope: "a", format: "minimemory-okf-v1", sha256, bytes } as const];
        store.save(await packRelease(release([], { memories })));
        expect(await sha256Hex(store.load()?.artifacts.get(sha256) ?? filled(9))).toBe(sha256);
        const sizes = sql.exec<{ size: number }>("SELECT LENGTH(bytes) AS size FROM chunks").toArray();
        expect(Math.max(...sizes.map((row) => row.size))).toBeLessThanOrEqual(CHUNK_BYTES);
      });
    },
  );

  it("gives back what it was given, and its head alone without reading the rest", async () => {
    const facts = release([await skill("a", filled(10), "# A"), await skill("b", filled(11))]);
    const packed = await packRelease(facts, 7);
    await inStorage(async (store) => {
      store.save(packed);
      expect(store.load()).toEqual(packed);
      expect(store.head()).toEqual({ version: packed.version, fetchedAt: 1, policyVersion: 7 });
    });
  });

  it("writes nothing but the head of a release it has, and drops artifacts that left the release", async () => {
    const [a, b, c] = [await skill("a", filled(10)), await skill("b", filled(20)), await skill("c", filled(30))];
    await inStorage(async (store, storage) => {
      store.save(await packRelease(release([a, b])));
      storage.sql.exec(
        "CREATE TRIGGER no_writes BEFORE INSERT ON chunks WHEN new.name <> 'head' BEGIN SELECT RAISE(ABORT, 'written'); END",
      );
      store.save(await packRelease(release([a, b], { fetchedAt: 2 })));
      expect(store.load()?.fetchedAt).toBe(2);
      storage.sql.exec("DROP TRIGGER no_writes");
      store.save(await packRelease(release([a, c])));
      expect(names(storage)).toEqual([a.toolSha256, c.toolSha256, "head", "manifest"].sort());
    });
  });

  it("keeps the release before when a new one cannot be written whole", async () => {
    const before = await packRelease(release([await skill("a", filled(10))]));
    const after = await packRelease(release([await skill("b", filled(20))], { fetchedAt: 2 }));
    await inStorage(async (store, { sql }) => {
      store.save(before);
      sql.exec(
        "CREATE TRIGGER full BEFORE INSERT ON chunks WHEN length(new.name) = 64 BEGIN SELECT RAISE(ABORT, 'full'); END",
      );
      expect(() => store.save(after)).toThrow(/full/);
      expect(store.load()).toEqual(before);
    });
  });

  it.each([
    ["a row is missing", "DELETE FROM chunks WHERE LENGTH(name) = 64"],
    ["the middle of an artifact is missing", "DELETE FROM chunks WHERE part = 1"],
    ["a byte is another", "UPDATE chunks SET bytes = X'01' WHERE part = 2"],
    ["the manifest is another", "UPDATE chunks SET bytes = X'7B7D' WHERE name = 'manifest'"],
    ["the rows are of another format", `UPDATE chunks SET bytes = CAST('{"format":0}' AS BLOB) WHERE name = 'head'`],
  ])("has nothing when %s, rather than half a release", async (_, damage) => {
    await inStorage(async (store, { sql }) => {
      store.save(await packRelease(release([await skill("a", filled(2 * CHUNK_BYTES + 1))])));
      sql.exec(damage);
      expect(store.load()).toBeNull();
    });
  });

  it("is empty at first and after clear", async () => {
    await inStorage(async (store) => {
      expect([store.head(), store.load()]).toEqual([null, null]);
      store.save(await packRelease(release([])));
      store.clear();
      expect([store.head(), store.load()]).toEqual([null, null]);
    });
  });
});

describe("packRelease", () => {
  it("keeps tools and recipes, with a byte order mark where the text has one", async () => {
    const original = release([
      await skill("a", filled(10), "\uFEFF# A"),
      await skill("b", filled(10)),
      await skill("c", filled(11), "# C"),
    ]);
    const packed = await packRelease(original);
    expect(unpackRelease(packed)).toEqual(original);
    expect(packed.artifacts.size).toBe(4);
  });

  it("takes the bytes of a view and not those around it", async () => {
    const view = filled(100_000).subarray(5, 15);
    const packed = await packRelease(release([await skill("a", view)]));
    expect([...packed.artifacts.values()].map((bytes) => bytes.buffer.byteLength)).toEqual([10]);
    expect(packedBytes(packed) - packed.manifest.length).toBe(10);
  });

  it("[budget:packed-release] refuses definitions that no message between isolates could hold", async () => {
    const small = await skill("a", filled(10));
    const definition = { ...small.definition, description: "x".repeat(MAX_PACKED_BYTES / 128) };
    const many = (count: number) => release(Array.from({ length: count }, () => ({ ...small, definition })));
    await expect(packRelease(many(128))).rejects.toThrow(ReleaseTooLarge);
    expect(packedBytes(await packRelease(many(127)))).toBeLessThan(MAX_PACKED_BYTES);
  });

  it("has a version that does not depend on the time, and does on every artifact and fact", async () => {
    const base = release([await skill("a", filled(10), "# A")]);
    const { version } = await packRelease(base);
    expect((await packRelease({ ...base, fetchedAt: 99 })).version).toBe(version);
    for (const other of [
      release([await skill("a", filled(11), "# A")]),
      release([await skill("a", filled(10), "# B")]),
      release([await skill("b", filled(10), "# A")]),
      { ...base, facts: [["fact", { holds: true, witnessedAt: null }]] as const },
      { ...base, rejected: [{ subject: "skill", scope: null, name: "x", code: "bad_url", message: "" } as const] },
    ]) {
      expect((await packRelease(other)).version).not.toBe(version);
    }
  });
});
