import { beforeEach, expect, it } from "vitest";
import { entryOf } from "../../core/attestation/fixture/entries.ts";
import { readAttestations } from "../../core/attestation/read.ts";
import type { Rejection, Release, ReleaseMemory } from "../../core/discovery/release.ts";
import { NO_INDEX } from "../../core/discovery/skills-index.ts";
import { sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { freshDatabase, register, registry } from "../admin/fixture.ts";
import { readPublication } from "../registry/publications.ts";
import { LastPublication } from "./last-publication.ts";

beforeEach(freshDatabase);

const ORIGIN = "https://publisher.example" as CanonicalOrigin;

async function memory(scope: string, size: number): Promise<ReleaseMemory> {
  const bytes = new Uint8Array(size).fill(scope.charCodeAt(0));
  return { scope, format: "minimemory-okf-v1", sha256: await sha256Hex(bytes), bytes };
}

/** @param silent scopes whose snapshot could not be had. */
function release(memories: readonly ReleaseMemory[], silent: readonly string[] = []): Release {
  const nothing = { skills: [], prose: [], held: [], confirmed: [], attestations: [], facts: [], index: NO_INDEX };
  const rejected = silent.map(
    (scope): Rejection => ({ subject: "memory", scope, name: "", code: "timeout", message: "It did not arrive." }),
  );
  return { origin: ORIGIN, fetchedAt: 1, memories, rejected, ...nothing };
}

it("keeps the attestations for any answer but a list, 404 and 410", async () => {
  const { attestations } = await readAttestations([entryOf()]);
  const refusedWith = (code: Rejection["code"], status: number): Rejection => ({
    ...{ subject: "attestations", scope: null, name: "", code, message: "" },
    fetch: { url: `${ORIGIN}/.well-known/agent-skills/attestations.json`, status },
  });
  const entry: Rejection = { subject: "attestations", scope: null, name: "", code: "bad_shape", message: "Entry 0." };
  for (const [i, [rejected, count]] of (
    [
      [[refusedWith("http_status", 403)], 1],
      [[refusedWith("bad_json", 200)], 1],
      [[refusedWith("http_status", 410)], 0],
      [[entry], 0],
      [[], 0],
    ] as const
  ).entries()) {
    const id = await register(`https://publisher-${i}.example`);
    await new LastPublication(registry, 0).keep(id, { ...release([]), attestations });
    await new LastPublication(registry, 0).keep(id, { ...release([]), rejected });
    expect((await readPublication(registry, id))?.attestations).toHaveLength(count);
  }
});

it("[budget:memory-bytes] keeps what could not be had while all memories of the origin stay within the limit", async () => {
  for (const [size, scopes] of [
    [60, ["a", "b"]],
    [61, ["b"]],
  ] as const) {
    const id = await register(`https://publisher-${size}.example`);
    await new LastPublication(registry, 100).keep(id, release([await memory("a", 40)]));
    // Another life of the hub knows the sizes from the database.
    await new LastPublication(registry, 100).keep(id, release([await memory("b", size)], ["a"]));
    const kept = await readPublication(registry, id);
    expect(kept?.memories.map(({ scope }) => scope).sort()).toEqual(scopes);
  }
});
