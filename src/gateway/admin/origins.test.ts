import { beforeEach, describe, expect, it } from "vitest";
import { MAX_UNAPPROVED_VERSIONS } from "../registry/kept-versions.ts";
import { call, found, freshDatabase, publishers, register, testEnv, verifiedChain } from "./fixture.ts";

beforeEach(async () => {
  await freshDatabase();
  publishers.clear();
});

const ORIGIN = "https://publisher.example";

/** An origin that was probed and is in this state. */
async function origin(status: "pending" | "active" | "suspended" | "revoked"): Promise<string> {
  const id = await register(ORIGIN);
  publishers.set(ORIGIN, found(["sum", "a"]));
  await call("POST", `/origins/${id}/probe`);
  if (status === "revoked") await call("POST", `/origins/${id}/revoke`, { reason: "Gone." });
  if (status === "active" || status === "suspended") await call("POST", `/origins/${id}/activate`);
  if (status === "suspended") await call("POST", `/origins/${id}/suspend`);
  return id;
}

const versions = async (id: string) => (await call("GET", `/origins/${id}/skills`)).body.items;

describe("registering", () => {
  it("answers 201 with the canonical origin, pending", async () => {
    const { status, body } = await call("POST", "/origins", { origin: "https://U.GitHub.io:443/REPO/" });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^org_[0-9a-f]{24}$/),
      origin: "https://u.github.io/REPO",
      status: "pending",
      createdAt: expect.any(Number),
      updatedAt: body.createdAt,
      probedAt: null,
      lastCalledAt: null,
      attestationMode: null,
      pin: "hold",
      forwardTrace: false,
      agentSkills: false,
      agentSkillsPointer: null,
    });
    expect((await call("GET", `/origins/${body.id}`)).body).toEqual(body);
    expect((await call("GET", "/origins")).body).toEqual({ items: [body], nextCursor: null });
  });

  it("[code:already_exists] a second time answers 409 with the same id, in any spelling and any state", async () => {
    const id = await origin("revoked");
    for (const spelling of [ORIGIN, `${ORIGIN}/`, ORIGIN.toUpperCase(), `${ORIGIN}:443`]) {
      const { body } = await call("POST", "/origins", { origin: spelling });
      expect(body).toMatchObject({ status: 409, code: "already_exists", id });
    }
  });

  it("[code:already_exists] ten times at once makes one origin, and nine answers with its id", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => call("POST", "/origins", { origin: ORIGIN })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array(9).fill(409)]);
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect(await verifiedChain()).toMatchObject({ status: "intact", verifiedTo: 1 });
  });

  it.each([
    "",
    "publisher.example",
    "ftp://publisher.example",
    "http://publisher.example",
    "https://10.0.0.1",
    "https://metadata.google.internal",
    "https://gate.example",
    "https://gate.example/base",
    "https://u:p@publisher.example",
    "https://publisher.example/?q",
    "https://publisher.example/\nx",
    `https://publisher.example/${"x".repeat(2048)}`,
  ])("[code:bad_origin] refuses %j with a sentence", async (bad) => {
    const { body } = await call("POST", "/origins", { origin: bad });
    expect(body).toMatchObject({ status: 400, code: "bad_origin" });
    expect(body.detail).toMatch(/^The .+\.$/);
    expect((await call("GET", "/origins")).body.items).toEqual([]);
  });

  it("[code:bad_origin] takes loopback http only where the operator allows it", async () => {
    const body = { origin: "http://127.0.0.1:9000" };
    expect((await call("POST", "/origins", body)).status).toBe(201);
    const bindings = { ...testEnv, ALLOW_LOOPBACK_ORIGINS: "false" };
    expect((await call("POST", "/origins", body, { bindings })).body.code).toBe("bad_origin");
  });

  it("[code:bad_origin] refuses the gateway's configured hosts", async () => {
    const bindings = { ...testEnv, PUBLIC_HOSTS: "mcp.example", ADMIN_HOST: "gate.example" };
    for (const host of ["mcp.example", "gate.example"]) {
      expect((await call("POST", "/origins", { origin: `https://${host}` }, { bindings })).body.code).toBe(
        "bad_origin",
      );
    }
  });

  it.each([[{}], [{ origin: 5 }], [{ origin: null }], [{ origin: ["https://a.example"] }]])(
    "[code:bad_request] %j names the field",
    async (body) => {
      expect((await call("POST", "/origins", body)).body).toMatchObject({
        status: 400,
        code: "bad_request",
        detail: "origin must be a string.",
      });
    },
  );
});

describe("probing", () => {
  it("answers what was found and records the hashes seen", async () => {
    const id = await register(ORIGIN);
    publishers.set(ORIGIN, found(["sum", "a"], ["time", "b"]));
    const { status, body } = await call("POST", `/origins/${id}/probe`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id,
      origin: ORIGIN,
      error: null,
      skills: [
        {
          scope: null,
          name: "sum",
          publicName: "sum",
          toolSha256: "a".repeat(64),
          description: "Does sum.",
          recipeSha256: null,
          recipeVerified: null,
          approvedAt: null,
        },
        { name: "time", toolSha256: "b".repeat(64) },
      ],
      index: { code: "absent", message: "There is no index.json.", entries: 0 },
      rejected: [
        { scope: "x", name: "broken", subject: "skill", code: "hash_mismatch", message: "tool_sha256 does not match." },
      ],
    });
    expect((await call("GET", `/origins/${id}`)).body).toMatchObject({ status: "pending", probedAt: body.probedAt });
    expect(await versions(id)).toMatchObject([
      { name: "sum", firstSeenAt: body.probedAt, lastSeenAt: body.probedAt, approvedAt: null, approvedBy: null },
      { name: "time" },
    ]);
    expect((await call("GET", "/audit")).body.items[0]).toMatchObject({
      action: "origin.probe",
      subject: id,
      detail: { skills: 2, rejected: 1 },
    });
  });

  it("again keeps the first sighting and moves the last", async () => {
    const id = await origin("pending");
    const [before] = await versions(id);
    await call("POST", `/origins/${id}/probe`);
    const [after] = await versions(id);
    expect(after.firstSeenAt).toBe(before.firstSeenAt);
    expect(after.lastSeenAt).toBeGreaterThan(before.lastSeenAt);
  });

  it("a failing publisher is a result with a code, and what was probed before stays", async () => {
    const id = await origin("pending");
    const before = (await call("GET", `/origins/${id}`)).body;
    publishers.set(ORIGIN, {
      ok: false,
      code: "no_skills",
      message: "The llms.txt lists no skill.",
      rejected: [
        { scope: null, name: "sum", subject: "skill", code: "bad_metadata", message: "The metadata is not JSON." },
      ],
    });
    const { status, body } = await call("POST", `/origins/${id}/probe`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      probedAt: before.probedAt,
      fetchedAt: null,
      error: { code: "no_skills", message: "The llms.txt lists no skill." },
      skills: [],
      index: null,
      rejected: [{ name: "sum", code: "bad_metadata" }],
    });
    expect((await call("GET", `/origins/${id}`)).body).toEqual(before);
    expect((await call("GET", "/audit")).body.items[0]).toMatchObject({
      action: "origin.probe",
      detail: { error: "no_skills" },
    });
  });

  it("[code:bad_state] never contacts a revoked origin", async () => {
    const id = await origin("revoked");
    expect((await call("POST", `/origins/${id}/probe`)).body).toMatchObject({ status: 409, code: "bad_state", id });
  });

  it("[budget:versions] keeps the 20 unapproved versions of a skill seen last, and every approved one", async () => {
    const id = await origin("active");
    const insert = testEnv.DB.prepare(
      "INSERT INTO skills (origin_id, scope, name, tool_sha256, first_seen_at, last_seen_at) VALUES (?1, '', 'sum', ?2, ?3, ?3)",
    );
    await testEnv.DB.batch(
      Array.from({ length: MAX_UNAPPROVED_VERSIONS }, (_, i) => insert.bind(id, `${i}`.padStart(64, "0"), 10 + i)),
    );
    const hashes = async () => (await versions(id)).map((v: { toolSha256: string }) => v.toolSha256);
    await call("POST", `/origins/${id}/probe`);
    expect(await hashes()).toContain("0".repeat(64));
    publishers.set(ORIGIN, found(["sum", "f"]));
    await call("POST", `/origins/${id}/probe`);
    const kept = await hashes();
    expect(kept).not.toContain("0".repeat(64));
    expect(kept).toContain(`${1}`.padStart(64, "0"));
    expect(kept).toContain("f".repeat(64));
    expect(kept).toContain("a".repeat(64));
    expect(kept.length).toBe(MAX_UNAPPROVED_VERSIONS + 1);
  });

  it("[budget:skills] records 256 skills", async () => {
    const id = await register(ORIGIN);
    publishers.set(ORIGIN, found(...Array.from({ length: 256 }, (_, i) => [`skill_${i}`, "a"] as const)));
    expect((await call("POST", `/origins/${id}/probe`)).body.skills.length).toBe(256);
    expect((await call("POST", `/origins/${id}/activate`)).body.status).toBe("active");
  });
});

describe("the states of an origin", () => {
  const steps = ["activate", "suspend", "revoke"] as const;
  const next: Record<string, Partial<Record<(typeof steps)[number], string>>> = {
    pending: { activate: "active", revoke: "revoked" },
    active: { suspend: "suspended", revoke: "revoked" },
    suspended: { activate: "active", revoke: "revoked" },
    revoked: {},
  };
  for (const state of ["pending", "active", "suspended", "revoked"] as const) {
    for (const step of steps) {
      const target = next[state]?.[step];
      it(`${target === undefined ? "[code:bad_state] " : ""}${step} of a ${state} one leads to ${target ?? "409"}`, async () => {
        const id = await origin(state);
        const rows = (await call("GET", "/audit")).body.items.length;
        const { status, body } = await call(
          "POST",
          `/origins/${id}/${step}`,
          step === "activate" ? {} : { reason: " It leaks. " },
        );
        expect(status).toBe(target === undefined ? 409 : 200);
        if (target === undefined) expect(body).toMatchObject({ code: "bad_state", id });
        else expect(body).toMatchObject({ id, status: target });
        expect((await call("GET", `/origins/${id}`)).body.status).toBe(target ?? state);
        const { items } = (await call("GET", "/audit")).body;
        expect(items.length).toBe(rows + (target === undefined ? 0 : 1));
        if (target === undefined || step === "activate") return;
        expect(items[0]).toMatchObject({ action: `origin.${step}`, detail: { from: state, reason: "It leaks." } });
      });
    }
  }

  it("[code:bad_request] revoking wants a reason of at most 1,000 characters, suspending may have one", async () => {
    const id = await origin("active");
    for (const body of [{}, { reason: "" }, { reason: " " }, { reason: "x".repeat(1_001) }, { reason: "\u202e" }]) {
      expect((await call("POST", `/origins/${id}/revoke`, body)).body.errors).toMatchObject([{ field: "reason" }]);
    }
    expect((await call("POST", `/origins/${id}/revoke`)).status).toBe(400);
    expect((await call("POST", `/origins/${id}/suspend`, { reason: "" })).status).toBe(400);
    expect((await call("POST", `/origins/${id}/suspend`)).status).toBe(200);
    expect((await call("GET", "/audit")).body.items[0].detail.reason).toBeNull();
  });

  it("[code:bad_state] one of two suspensions at once wins", async () => {
    const id = await origin("active");
    const answers = await Promise.all([1, 2, 3].map(() => call("POST", `/origins/${id}/suspend`)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409]);
    expect(await verifiedChain()).toMatchObject({ status: "intact", unnoted: [] });
  });
});
