import { asc, eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { decodeBase64 } from "../../core/attestation/base64.ts";
import { signedText } from "../durable/audit-head.ts";
import { type AuditRow, auditHash } from "../registry/audit.ts";
import { VERIFY_ROWS } from "../registry/audit-verify.ts";
import { auditLog } from "../registry/schema.ts";
import { call, forgetNotedRows, freshDatabase, register, registry, testEnv, verifiedChain } from "./fixture.ts";

const rows = () => registry.select().from(auditLog).orderBy(asc(auditLog.seq));
const verify = async () => (await call("GET", "/audit/verify")).body;
const broken = async () => (await verifiedChain()).broken;

/** A row as somebody who knows the code would write it. */
async function forged(row: Omit<AuditRow, "hash">): Promise<AuditRow> {
  return { ...row, hash: await auditHash(row) };
}

async function row(seq: number): Promise<AuditRow> {
  const found = (await rows()).find((one) => one.seq === seq);
  if (found === undefined) throw new Error(`no row ${seq}`);
  return found;
}

beforeEach(async () => {
  await freshDatabase();
  for (let i = 1; i <= 5; i++) await register(`https://s${i}.example`);
});

describe("GET /audit/verify", () => {
  it("proves the chain up to the head that the witness signed", async () => {
    const body = await verify();
    expect(body).toMatchObject({ status: "intact", verifiedTo: 5, broken: null, unnoted: [], nextCursor: null });
    expect(body.head).toMatchObject({ seq: 5, hash: (await row(5)).hash });
    const raw = decodeBase64(body.head.publicKey) ?? new Uint8Array();
    const key = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
    const signature = decodeBase64(body.head.signature) ?? new Uint8Array();
    expect(await crypto.subtle.verify("Ed25519", key, signature, signedText(body.head))).toBe(true);
  });

  it("is intact while empty", async () => {
    await freshDatabase();
    expect(await verify()).toMatchObject({ status: "intact", verifiedTo: 0, head: null });
  });

  for (const [column, value] of Object.entries({
    at: 5,
    actor: "somebody",
    action: "origin.revoke",
    subject: "org_0",
    detail: '{"rpm":null}',
    requestId: "other",
  })) {
    it(`names a row whose ${column} was changed`, async () => {
      await registry
        .update(auditLog)
        .set({ [column]: value })
        .where(eq(auditLog.seq, 2));
      expect(await broken()).toEqual({ seq: 2, reason: "changed_row" });
    });
  }

  it("names a changed row even where all hashes after it were made to fit", async () => {
    let before = await row(1);
    for (let seq = 2; seq <= 5; seq++) {
      before = await forged({ ...(await row(seq)), actor: "somebody", prevHash: before.hash });
      await registry.update(auditLog).set(before).where(eq(auditLog.seq, seq));
    }
    expect(await broken()).toEqual({ seq: 2, reason: "other_than_noted" });
  });

  it("names a removed row", async () => {
    await registry.delete(auditLog).where(eq(auditLog.seq, 2));
    expect(await broken()).toEqual({ seq: 2, reason: "missing_row" });
  });

  it("names a tail that was cut, also after new rows were written in its place", async () => {
    await testEnv.DB.prepare("DELETE FROM audit_log WHERE seq > 3").run();
    expect(await broken()).toEqual({ seq: 4, reason: "missing_row" });
    await register("https://new.example");
    expect(await broken()).toEqual({ seq: 4, reason: "other_than_noted" });
    await testEnv.DB.prepare("DELETE FROM audit_log").run();
    expect(await broken()).toEqual({ seq: 1, reason: "missing_row" });
  });

  it("names a row put before the first", async () => {
    await registry.insert(auditLog).values(await forged({ ...(await row(1)), seq: -1, prevHash: "f".repeat(64) }));
    expect(await broken()).toEqual({ seq: -1, reason: "unexpected_row" });
  });

  it("counts a row put at the end that fits, and does not call it intact", async () => {
    const last = await row(5);
    await registry.insert(auditLog).values(await forged({ ...last, seq: 6, prevHash: last.hash }));
    expect(await verify()).toMatchObject({ status: "unwitnessed", verifiedTo: 6, unnoted: [6], head: { seq: 5 } });
    await register("https://after.example");
    expect(await verify()).toMatchObject({ status: "unwitnessed", verifiedTo: 7, unnoted: [6], head: { seq: 7 } });
  });

  it("names a row put between others, though all rows after it were made to fit", async () => {
    const tail = (await rows()).filter(({ seq }) => seq > 2);
    await testEnv.DB.prepare("DELETE FROM audit_log WHERE seq > 2").run();
    let before = await row(2);
    for (const [i, one] of [{ ...before, actor: "somebody" }, ...tail].entries()) {
      before = await forged({ ...one, seq: 3 + i, prevHash: before.hash });
      await registry.insert(auditLog).values(before);
    }
    expect((await rows()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await broken()).toEqual({ seq: 3, reason: "other_than_noted" });
  });

  it("after an upgrade from a version without a witness, notes where the log stood at the first use of it", async () => {
    for (const use of [verify, () => register("https://new.example")]) {
      await forgetNotedRows();
      const { seq } = (await rows()).at(-1) ?? { seq: 0 };
      await use();
      expect(await verify()).toMatchObject({ status: "unwitnessed", broken: null });
      // Whoever changes what was there before, and all after it, is found.
      const kept = await row(seq);
      const changed = await forged({ ...kept, actor: "somebody" });
      await registry.update(auditLog).set(changed).where(eq(auditLog.seq, seq));
      expect(await broken()).toEqual({ seq, reason: "other_than_noted" });
      await registry.update(auditLog).set(kept).where(eq(auditLog.seq, seq));
    }
  });

  it("goes through more rows than one page verifies", async () => {
    let last = await row(5);
    const more: AuditRow[] = [];
    for (let seq = 6; seq <= VERIFY_ROWS + 3; seq++) {
      last = await forged({ ...last, seq, prevHash: last.hash });
      more.push(last);
    }
    const values = JSON.stringify(
      more.map((one) => [
        one.seq,
        one.at,
        one.actor,
        one.action,
        one.subject,
        one.detail,
        one.requestId,
        one.prevHash,
        one.hash,
      ]),
    );
    const columns = Array.from({ length: 9 }, (_, i) => `value ->> ${i}`).join(", ");
    await testEnv.DB.prepare(`INSERT INTO audit_log SELECT ${columns} FROM json_each(?)`).bind(values).run();
    const first = await verify();
    expect(first).toMatchObject({ status: "unwitnessed", verifiedTo: VERIFY_ROWS });
    const rest = (await call("GET", `/audit/verify?cursor=${first.nextCursor}`)).body;
    expect(rest).toMatchObject({ status: "unwitnessed", verifiedTo: VERIFY_ROWS + 3, nextCursor: null });
    await testEnv.DB.prepare("UPDATE audit_log SET actor = 'x' WHERE seq = ?")
      .bind(VERIFY_ROWS + 1)
      .run();
    const again = (await call("GET", `/audit/verify?cursor=${first.nextCursor}`)).body;
    expect(again.broken).toEqual({ seq: VERIFY_ROWS + 1, reason: "changed_row" });
  });

  it("refuses a cursor that is none of its own", async () => {
    for (const cursor of ["x", btoa("[1,2]"), btoa('[0,"a"]')]) {
      expect((await call("GET", `/audit/verify?cursor=${cursor}`)).body).toMatchObject({
        status: 400,
        code: "bad_cursor",
      });
    }
  });

  it("[code:policy_unavailable] says when the witness does not answer; mutations go on without it", async () => {
    const bindings = { ...testEnv, AUDIT_HEAD: testEnv.BROKEN_OBJECT };
    expect((await call("GET", "/audit/verify", undefined, { bindings })).body).toMatchObject({
      code: "policy_unavailable",
    });
    expect((await call("POST", "/origins", { origin: "https://b.example" }, { bindings })).status).toBe(201);
    expect(await verify()).toMatchObject({ status: "unwitnessed", verifiedTo: 6, unnoted: [6], head: { seq: 5 } });
  });
});
