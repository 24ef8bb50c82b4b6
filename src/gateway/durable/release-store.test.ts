import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { env } from "../../../test/workerd/gateway-fixture.ts";
import type { Release, ReleaseSkill } from "../../core/discovery/release.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { toPublicName } from "../../core/skill.ts";
import { CHUNK_BYTES, ReleaseStore, releaseBytes, releaseVersion } from "./release-store.ts";

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
    recipe: recipe === null ? null : { sha256: await sha256Hex(new TextEncoder().encode(recipe)), text: recipe },
  };
}

function release(skills: ReleaseSkill[], more: Partial<Release> = {}): Release {
  const origin = "https://shop.example" as CanonicalOrigin;
  return { origin, fetchedAt: 1, skills, memories: [], prose: [], attestations: [], rejected: [], ...more };
}

function inStorage<T>(work: (store: ReleaseStore, storage: DurableObjectStorage) => Promise<T>): Promise<T> {
  const stub = env.ORIGIN_HUB.get(env.ORIGIN_HUB.newUniqueId());
  return runInDurableObject(stub, (_object, state) => work(new ReleaseStore(state.storage), state.storage));
}

const filled = (bytes: number) => new Uint8Array(bytes).map((_, i) => (i * 31) & 255);

describe("ReleaseStore", () => {
  it.each([0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 4 * CHUNK_BYTES])(
    "[budget:storage-chunk] gives back an artifact of %i bytes, byte for byte, in chunks of at most 1 MiB",
    async (bytes) => {
      const memory = {
        scope: "a",
        format: "minimemory-okf-v1",
        sha256: "0".repeat(64) as Sha256Hex,
        bytes: filled(bytes),
      } as const;
      await inStorage(async (store, { sql }) => {
        const saved = release([], { memories: [memory] });
        store.save({ version: "v", release: saved });
        const [loaded] = store.load()?.release.memories ?? [];
        expect(loaded?.bytes.length).toBe(bytes);
        expect(await sha256Hex(loaded?.bytes ?? filled(0))).toBe(await sha256Hex(memory.bytes));
        const sizes = sql.exec<{ size: number }>("SELECT LENGTH(bytes) AS size FROM chunks").toArray();
        expect(Math.max(...sizes.map(({ size }) => size))).toBeLessThanOrEqual(CHUNK_BYTES);
      });
    },
  );

  it("gives back tools and recipes, with a byte order mark where the text has one", async () => {
    const saved = release([
      await skill("a", filled(10), "\uFEFF# A"),
      await skill("b", filled(10)),
      await skill("c", filled(11), "# C"),
    ]);
    await inStorage(async (store) => {
      store.save({ version: "v", release: saved });
      expect(store.load()).toEqual({ version: "v", release: saved });
    });
  });

  it("does not write an artifact again that it has, and drops those no longer in the release", async () => {
    const [a, b, c] = [await skill("a", filled(10)), await skill("b", filled(20)), await skill("c", filled(30))];
    await inStorage(async (store, { sql }) => {
      store.save({ version: "1", release: release([a, b]) });
      const mark = filled(7).buffer;
      sql.exec("UPDATE chunks SET bytes = ? WHERE name = ?", mark, `tool:${a.toolSha256}`);
      store.save({ version: "2", release: release([a, c]) });
      const rows = sql.exec<{ name: string; bytes: ArrayBuffer }>("SELECT name, bytes FROM chunks").toArray();
      expect(rows.map(({ name }) => name).sort()).toEqual(
        ["manifest", `tool:${a.toolSha256}`, `tool:${c.toolSha256}`].sort(),
      );
      expect(rows.find(({ name }) => name === `tool:${a.toolSha256}`)?.bytes).toEqual(mark);
    });
  });

  it("has nothing when a row is missing, rather than half a release", async () => {
    await inStorage(async (store, { sql }) => {
      const tool = await skill("a", filled(10));
      store.save({ version: "1", release: release([tool]) });
      sql.exec("DELETE FROM chunks WHERE name = ?", `tool:${tool.toolSha256}`);
      expect(store.load()).toBeNull();
    });
  });

  it("is empty at first and after clear", async () => {
    await inStorage(async (store) => {
      expect(store.load()).toBeNull();
      store.save({ version: "1", release: release([]) });
      store.clear();
      expect(store.load()).toBeNull();
    });
  });
});

describe("releaseVersion", () => {
  it("does not depend on the time, and does on every artifact and fact", async () => {
    const base = release([await skill("a", filled(10), "# A")]);
    const version = await releaseVersion(base);
    expect(await releaseVersion({ ...base, fetchedAt: 99 })).toBe(version);
    for (const other of [
      release([await skill("a", filled(11), "# A")]),
      release([await skill("a", filled(10), "# B")]),
      release([await skill("b", filled(10), "# A")]),
      { ...base, attestations: [{}] },
      { ...base, rejected: [{ subject: "skill", scope: null, name: "x", code: "bad_url", message: "" } as const] },
    ]) {
      expect(await releaseVersion(other)).not.toBe(version);
    }
  });
});

it("releaseBytes counts every artifact", async () => {
  const small = releaseBytes(release([await skill("a", filled(10))]));
  expect(releaseBytes(release([await skill("a", filled(100_010))])) - small).toBe(100_000);
});
