import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { addClient, addOrigin, env, mcp, migrate, rpc } from "../../../test/workerd/gateway-fixture.ts";
import {
  addReviewer,
  approve,
  hashOf,
  type Published,
  revoke,
  startPublisher,
} from "../../../test/workerd/trust-fixture.ts";
import { call, freshDatabase } from "../admin/fixture.ts";
import { aSkill, ask, newSite, publish, skillText, tamper, upload } from "../publishing/fixture.ts";
import type { AuditAction } from "../registry/audit.ts";
import { QUARANTINE_MISMATCHES } from "../registry/site-blobs.ts";
import { refreshHub } from "../releases/hub-client.ts";
import { decide, fakeClock, openLegacy, pass, published } from "./stream-fixture.ts";

// Of each kind of change: which lists a client that listens is told of, and that it is told of no other.

beforeAll(migrate);
afterEach(() => void vi.useRealTimers());

const TOOLS = "notifications/tools/list_changed";
const RESOURCES = "notifications/resources/list_changed";
/** Longer than any change takes to be told. */
const QUIET_MS = 15_000;

const skill = (answer: string): Published => ({ name: "s", scope: null, answer });

describe("of an origin", () => {
  beforeEach(fakeClock);

  it("a version that is held is told once it is approved, not before", async () => {
    const publisher = await startPublisher({ pin: "hold" });
    await publisher.publish([skill("one")]);
    await approve(publisher.id, skill("one"));
    expect(await publisher.value("s")).toBe("one");
    const stream = await openLegacy(publisher.origin, (await addClient()).token);
    await publisher.publish([skill("two")]);
    await refreshHub(env, publisher.origin);
    await pass(publisher.origin, QUIET_MS);
    expect(stream.methods).toEqual([]);
    await decide(() => approve(publisher.id, skill("two")), "skill.approve");
    await stream.received(1);
    await pass(publisher.origin, QUIET_MS);
    expect(stream.methods).toEqual([TOOLS]);
    expect(await publisher.tools()).toEqual([expect.stringContaining("Says two.")]);
  });

  it("a revoked hash is told, and that it is so no more", async () => {
    const publisher = await startPublisher({ pin: "off" });
    await publisher.publish([skill("one")]);
    expect(await publisher.value("s")).toBe("one");
    const stream = await openLegacy(publisher.origin, (await addClient()).token);
    const hash = await hashOf(skill("one"));
    let lift = async () => {};
    await decide(async () => {
      lift = await revoke("hash", hash);
    }, "revocation.create");
    await stream.received(1);
    expect(await publisher.value("s")).toBe("no_skills");
    await decide(lift, "revocation.lift");
    await stream.received(2);
    expect(stream.methods).toEqual([TOOLS, TOOLS]);
    expect(await publisher.value("s")).toBe("one");
  });

  it("what a reviewer's word covers until a day is told to be gone when that day ends in UTC", async () => {
    vi.setSystemTime(Date.parse("2026-11-30T23:59:15Z"));
    const publisher = await startPublisher({ pin: "off", attestationMode: "enforcing" });
    const ada = await addReviewer("ada");
    const day = "2026-11-30" as never;
    const window = { signedOn: day, validUntil: day };
    await publisher.publish([skill("one")], [await ada.sign(publisher.origin, skill("one"), window)]);
    expect(await publisher.value("s")).toBe("one");
    const stream = await openLegacy(publisher.origin, (await addClient()).token);
    await pass(publisher.origin, Date.parse("2026-11-30T23:59:59Z") - Date.now());
    expect(stream.methods).toEqual([]);
    await pass(publisher.origin, 10_000);
    expect(stream.methods).toEqual([TOOLS]);
    expect(await publisher.value("s")).toBe("no_skills");
  });

  it("a recipe is told by what it says, and nothing where the same is published again", async () => {
    const { origin, token, change } = await published({ sum: { description: "Adds.", recipe: "# Sum" } });
    const stream = await openLegacy(origin, token);
    await change({ sum: { description: "Adds.", recipe: "# Sum" } });
    await pass(origin, QUIET_MS);
    expect(stream.methods).toEqual([]);
    await change({ sum: { description: "Adds.", recipe: "# Add" } });
    await pass(origin, QUIET_MS);
    expect(stream.methods).toEqual([RESOURCES]);
  });

  it.each<[AuditAction, number]>([
    ["session.create", 0],
    ["client.limits", 0],
    ["site.publish", 0],
    ["client.tools", 1],
    ["operator.update", 1],
  ])("whatever is done as %s makes its notifier look %i times", async (action, looks) => {
    const { id, clientId, origin, token } = await published({ sum: { description: "Adds." } });
    const stream = await openLegacy(origin, token);
    // Only a look can find it.
    const hide = "INSERT INTO client_tools (client_id, origin_id, effect, tool) VALUES (?, ?, 'deny', 'sum')";
    await decide(() => env.DB.prepare(hide).bind(clientId, id).run(), action);
    await pass(origin, QUIET_MS);
    expect(stream.methods).toEqual(Array.from({ length: looks }, () => TOOLS));
    await pass(origin, 60_000);
    expect(stream.methods).toEqual([TOOLS]);
  });
});

describe("of a hosted site", () => {
  beforeAll(freshDatabase);

  async function hosted() {
    const site = await newSite();
    const first = await aSkill(site, "first");
    await publish(site, { skills: [first] });
    const origin = `https://${site.host}`;
    await addOrigin("x", "active", { origin });
    const { token } = await addClient();
    await rpc(mcp(origin), "resources/list", { token });
    fakeClock();
    return { site, first, origin, stream: await openLegacy(origin, token) };
  }

  it("what changes of a file's bytes alone is told, and nothing where the same is published again", async () => {
    const { site, first, origin, stream } = await hosted();
    expect((await publish(site, { skills: [first] })).status).toBeLessThan(300);
    await pass(origin, QUIET_MS);
    expect(stream.methods).toEqual([]);
    await publish(site, { skills: [{ ...first, ...(await aSkill(site, "first", {}, "More.")) }] });
    await stream.received(1);
    expect(stream.methods).toEqual([RESOURCES]);
  });

  it("bytes in quarantine are told to be gone, and to be back once they are repaired", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { site, first, stream } = await hosted();
    await tamper(site, first.sha256, "x");
    for (let i = 0; i < QUARANTINE_MISMATCHES; i++) await ask(`https://${site.host}${first.url}`);
    await stream.received(1);
    await upload(site, skillText("first", "Does first."));
    await stream.received(2);
    expect(stream.methods).toEqual([RESOURCES, RESOURCES]);
    vi.restoreAllMocks();
  });

  it("a skill that is for authenticated callers alone from now on is nothing new to these", async () => {
    const { site, first, origin, stream } = await hosted();
    await publish(site, { skills: [{ ...first, visibility: "authenticated" }] });
    await pass(origin, QUIET_MS);
    expect(stream.methods).toEqual([]);
    expect((await call("GET", `/sites/${site.id}`)).status).toBe(200);
  });
});
