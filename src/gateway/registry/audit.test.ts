import { asc, eq } from "drizzle-orm";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { canonicalJson } from "../../core/canonical-json.ts";
import { call, freshDatabase, newClient, register, registry } from "../admin/fixture.ts";
import { auditHash, GENESIS_HASH, mutate, verifyAuditChain } from "./audit.ts";
import { createClient } from "./clients.ts";
import { auditLog, clients, origins } from "./schema.ts";

beforeEach(freshDatabase);

const acting = { actor: "admin-token", requestId: "r", now: 1 };
const rows = () => registry.select().from(auditLog).orderBy(asc(auditLog.seq));

describe("the audit chain", () => {
  it("is intact while empty", async () => {
    expect(await verifyAuditChain(registry)).toEqual({ ok: true, rows: 0, head: GENESIS_HASH });
  });

  it("holds one row a mutation, each with the hash of the one before", async () => {
    const origin = await register("https://a.example");
    const client = await newClient();
    await call("PATCH", `/clients/${client}`, { rpm: 5 });
    const [first, second, third] = await rows();
    expect(first).toMatchObject({ seq: 1, action: "origin.create", subject: origin, prevHash: GENESIS_HASH });
    expect(second).toMatchObject({ seq: 2, action: "client.create", subject: client, prevHash: first?.hash });
    expect(third).toMatchObject({ seq: 3, action: "client.update", detail: '{"rpm":5}', prevHash: second?.hash });
    expect(await verifyAuditChain(registry)).toEqual({ ok: true, rows: 3, head: third?.hash });
  });

  it("stays intact through 50 mutations at once, each applied once and with its row", async () => {
    const names = Array.from({ length: 50 }, (_, i) => `client ${i}`);
    const created = await Promise.all(
      names.map((name) => createClient(registry, acting, { name, rpm: null, dailyQuota: null, grants: "all" })),
    );
    const stored = await registry.select().from(clients);
    expect(stored.map((row) => row.name).sort()).toEqual([...names].sort());
    expect(await verifyAuditChain(registry)).toMatchObject({ ok: true, rows: 50 });
    expect((await rows()).map((row) => row.subject).sort()).toEqual(created.map((client) => client.id).sort());
  }, 30_000);

  it("verifies more rows than one read fetches", async () => {
    for (let i = 0; i < 3; i++) await register(`https://s${i}.example`);
    let [head] = (await rows()).slice(-1);
    for (let seq = 4; seq <= 1003; seq += 100) {
      const batch = [];
      for (let i = seq; i < seq + 100; i++) {
        const unhashed = {
          ...acting,
          at: 1,
          seq: i,
          action: "x",
          subject: "y",
          detail: "{}",
          prevHash: head?.hash ?? "",
        };
        const { now: _, ...row } = unhashed;
        head = { ...row, hash: await auditHash(row) };
        batch.push(registry.insert(auditLog).values(head));
      }
      await registry.batch(batch as [(typeof batch)[0]]);
    }
    expect(await verifyAuditChain(registry)).toEqual({ ok: true, rows: 1003, head: head?.hash });
  });

  for (const [column, value] of Object.entries({
    at: 5,
    actor: "somebody",
    action: "origin.revoke",
    subject: "org_0",
    detail: '{"rpm":null}',
    requestId: "other",
  })) {
    it(`detects a changed ${column}`, async () => {
      for (let i = 0; i < 3; i++) await register(`https://s${i}.example`);
      await registry
        .update(auditLog)
        .set({ [column]: value })
        .where(eq(auditLog.seq, 2));
      expect(await verifyAuditChain(registry)).toEqual({ ok: false, seq: 2, reason: "changed_row" });
    });
  }

  it("detects a changed row even when its own hash was made to fit", async () => {
    for (let i = 0; i < 3; i++) await register(`https://s${i}.example`);
    const second = (await rows())[1];
    if (second === undefined) throw new Error("no row");
    const forged = { ...second, actor: "somebody" };
    await registry
      .update(auditLog)
      .set({ ...forged, hash: await auditHash(forged) })
      .where(eq(auditLog.seq, 2));
    expect(await verifyAuditChain(registry)).toEqual({ ok: false, seq: 3, reason: "broken_link" });
  });

  it("detects a removed row", async () => {
    for (let i = 0; i < 3; i++) await register(`https://s${i}.example`);
    await registry.delete(auditLog).where(eq(auditLog.seq, 2));
    expect(await verifyAuditChain(registry)).toEqual({ ok: false, seq: 3, reason: "gap" });
  });
});

it("the audit chain shows a row that was put before its first", async () => {
  await register("https://a.example");
  const [first] = await rows();
  if (first === undefined) throw new Error("no row");
  const row = { ...first, seq: -1, prevHash: "f".repeat(64) };
  await registry.insert(auditLog).values({ ...row, hash: await auditHash(row) });
  expect(await verifyAuditChain(registry)).toEqual({ ok: false, seq: -1, reason: "gap" });
});

describe("a mutation", () => {
  it("leaves neither row nor change when a statement fails", async () => {
    const id = await register("https://a.example");
    const again = registry.insert(origins).values({
      id,
      origin: "https://b.example",
      status: "pending",
      createdAt: 1,
      updatedAt: 1,
    });
    await expect(
      mutate(registry, acting, async () => ({
        result: null,
        writes: [again],
        audit: { action: "origin.create", subject: id, detail: {} },
      })),
    ).rejects.toThrow(/UNIQUE constraint failed: origins/);
    expect(await verifyAuditChain(registry)).toMatchObject({ ok: true, rows: 1 });
  });

  it("decides anew on the changed state when another one came first", async () => {
    let decisions = 0;
    const result = await mutate(registry, acting, async () => {
      decisions += 1;
      if (decisions === 1) await register("https://first.example");
      const seen = await registry.select().from(origins);
      return {
        result: seen.length,
        writes: [],
        audit: { action: "origin.create", subject: "test", detail: { seen: seen.length } },
      };
    });
    expect({ decisions, result }).toEqual({ decisions: 2, result: 1 });
    expect((await rows()).map((row) => row.subject === "test")).toEqual([false, true]);
  });

  it("gives up as busy, changing nothing, when others come first every time", async () => {
    // No pauses between the attempts.
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    let others = 0;
    const losing = mutate(registry, acting, async () => {
      others += 1;
      await register(`https://s${others}.example`);
      return { result: null, writes: [], audit: { action: "origin.create", subject: "loser", detail: {} } };
    });
    await expect(losing).rejects.toMatchObject({ code: "busy" });
    random.mockRestore();
    expect((await rows()).filter((row) => row.subject === "loser")).toEqual([]);
    expect(others).toBe(40);
  }, 30_000);
});

it("canonical JSON sorts members at every depth and keeps lists in order", () => {
  expect(canonicalJson({ b: [2, { d: null, c: "ü\n" }], a: true })).toBe('{"a":true,"b":[2,{"c":"ü\\n","d":null}]}');
});
