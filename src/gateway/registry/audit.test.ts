import { asc } from "drizzle-orm";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { canonicalJson } from "../../core/canonical-json.ts";
import { call, freshDatabase, newClient, register, registry, testEnv } from "../admin/fixture.ts";
import { type ChainHead, GENESIS_HASH, mutate } from "./audit.ts";
import { CHAIN_START, verifyChain } from "./audit-verify.ts";
import { noteRow as noteAuditRow, readNoted } from "./audit-witness.ts";
import { createClient } from "./clients.ts";
import { auditLog, clients, origins } from "./schema.ts";

beforeEach(freshDatabase);

const acting = { actor: "admin-token", requestId: "r", now: 1 };
const rows = () => registry.select().from(auditLog).orderBy(asc(auditLog.seq));

/** Rows written here are not noted, unless by the API. */
const verify = () => verifyChain(registry, CHAIN_START, (after, to) => readNoted(testEnv, after, to));

describe("the audit chain", () => {
  it("holds one row a mutation, each with the hash of the one before", async () => {
    const origin = await register("https://a.example");
    const client = await newClient();
    await call("PATCH", `/clients/${client}`, { rpm: 5 });
    const [first, second, third] = await rows();
    expect(first).toMatchObject({ seq: 1, action: "origin.create", subject: origin, prevHash: GENESIS_HASH });
    expect(second).toMatchObject({ seq: 2, action: "client.create", subject: client, prevHash: first?.hash });
    expect(third).toMatchObject({ seq: 3, action: "client.update", detail: '{"rpm":5}', prevHash: second?.hash });
    expect(await verify()).toMatchObject({ broken: null, verified: { seq: 3, hash: third?.hash } });
  });

  it("stays intact through 50 mutations at once, each applied once and with its row", async () => {
    const names = Array.from({ length: 50 }, (_, i) => `client ${i}`);
    const noteRow = (row: ChainHead, before: ChainHead | null) => noteAuditRow(testEnv, row, before);
    const created = await Promise.all(
      names.map((name) =>
        createClient(registry, { ...acting, noteRow }, { name, rpm: null, dailyQuota: null, grants: "all" }),
      ),
    );
    const stored = await registry.select().from(clients);
    expect(stored.map((row) => row.name).sort()).toEqual([...names].sort());
    expect(await verify()).toMatchObject({ broken: null, verified: { seq: 50 }, unnoted: [], head: { seq: 50 } });
    expect((await rows()).map((row) => row.subject).sort()).toEqual(created.map((client) => client.id).sort());
  }, 30_000);
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
    expect(await verify()).toMatchObject({ broken: null, verified: { seq: 1 } });
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
