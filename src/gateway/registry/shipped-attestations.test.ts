import { beforeEach, describe, expect, it } from "vitest";
import { entryOf } from "../../core/attestation/fixture/entries.ts";
import { readAttestations } from "../../core/attestation/read.ts";
import { freshDatabase, registry, testEnv } from "../admin/fixture.ts";
import { HASH, lastAudit, ORIGIN } from "../admin/reviewing-fixture.ts";
import { attestationsOf, FROM_PUBLISHER, MAX_STORED_PER_ORIGIN, storeAttestations } from "./attestations.ts";

beforeEach(freshDatabase);

const SHIPPED = { storedBy: FROM_PUBLISHER };
let clock = Date.now();

async function keep(
  windows: readonly (readonly [validUntil: string, skill?: string, attester?: string])[],
  options: Parameters<typeof storeAttestations>[3] = SHIPPED,
): Promise<void> {
  const entries = windows.map(([valid_until, skill = "sum", attester = "human:ada"]) =>
    entryOf({ valid_until, skill, attester }),
  );
  const { attestations } = await readAttestations(entries);
  clock += 10;
  await storeAttestations(registry, { actor: "admin-token", requestId: "r", now: clock }, attestations, options);
}

const stored = async () =>
  (await attestationsOf(registry, ORIGIN)).map(({ attestation, storedBy }) => `${attestation.validUntil} ${storedBy}`);

/** Rows that fill the origin's store, expiring one after the other. */
async function fill(rows: number, storedBy: string): Promise<void> {
  await testEnv.DB.prepare(
    "INSERT INTO attestations SELECT value, ?1, 'old', ?4, value, '', 9000 + value || '-01-01', '{}', 1, ?3 FROM json_each(?2)",
  )
    .bind(ORIGIN, JSON.stringify(Array.from({ length: rows }, (_, i) => `${i}`)), storedBy, HASH)
    .run();
}

const filling = async () => {
  const { results } = await testEnv.DB.prepare("SELECT id FROM attestations WHERE skill = 'old'").all<{ id: string }>();
  return results.map(({ id }) => id);
};

describe("what a publisher ships", () => {
  it("is stored once a version and attester, as that which holds longest", async () => {
    await keep([["2030-01-01"], ["2040-01-01"], ["2035-01-01"], ["2030-01-01", "sum", "human:bob"]]);
    expect((await stored()).sort()).toEqual(["2030-01-01 publisher", "2040-01-01 publisher"]);
    await keep([["2039-01-01"], ["2050-01-01", "sum", "human:bob"]]);
    expect((await stored()).sort()).toEqual(["2040-01-01 publisher", "2050-01-01 publisher"]);
    expect(await lastAudit()).toMatchObject({ action: "attestation.create", subject: ORIGIN });
  });

  it("neither replaces nor repeats what the operator stored", async () => {
    await keep([["2030-01-01"]], { storedBy: "admin-token" });
    await keep([["2029-01-01"]]);
    expect(await stored()).toEqual(["2030-01-01 admin-token"]);
    await keep([["2031-01-01"]]);
    expect(await stored()).toEqual(["2030-01-01 admin-token", "2031-01-01 publisher"]);
  });

  it("makes room, what expires first before the rest, and only as much as is needed", async () => {
    await fill(MAX_STORED_PER_ORIGIN, FROM_PUBLISHER);
    await expect(keep([["2030-01-01"]], { ...SHIPPED, mayDisplace: false })).rejects.toMatchObject({
      code: "too_many_attestations",
    });
    await keep([["2030-01-01"]], { storedBy: "admin-token" });
    await keep([["2030-01-01", "new"]]);
    const left = await filling();
    expect([left.length, left.includes("0"), left.includes("1"), left.includes("2")]).toEqual([
      MAX_STORED_PER_ORIGIN - 2,
      false,
      false,
      true,
    ]);
    expect(await lastAudit()).toMatchObject({ action: "attestation.create", detail: { madeRoom: 1 } });
  });

  it("never displaces what the operator stored", async () => {
    await fill(MAX_STORED_PER_ORIGIN, "admin-token");
    await expect(keep([["2030-01-01"]])).rejects.toMatchObject({ code: "too_many_attestations" });
    expect((await filling()).length).toBe(MAX_STORED_PER_ORIGIN);
  });
});
