import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFreeRun } from "../../src/dev/stack/ports.ts";
import {
  buildPublishers,
  PUBLISHERS,
  publisherPorts,
  type RunningPublishers,
  startPublishers,
} from "../../src/dev/stack/publishers.ts";

let publishers: RunningPublishers;
let stateDir: string;

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "skillgate-hostile-"));
  publishers = await startPublishers({
    workers: await buildPublishers(),
    ports: publisherPorts(await findFreeRun(PUBLISHERS.length)),
    stateDir,
  });
}, 120_000);

afterAll(async () => {
  await publishers?.stop();
  await rm(stateDir, { recursive: true, force: true });
});

const get = (path: string, init?: RequestInit) => fetch(`${publishers.origins.hostile}${path}`, init);

describe("the hostile API", () => {
  it("redirects to another origin that would really answer", async () => {
    const answer = await get("/api/redirect-away", { redirect: "manual" });
    const away = answer.headers.get("location") ?? "";
    expect(answer.status).toBe(302);
    expect(new URL(away).origin).not.toBe(publishers.origins.hostile);
    expect(new URL(away).pathname).toBe("/api/secret");
    expect(await (await get("/api/secret")).text()).toContain("another origin");
  });

  it("redirects to itself", async () => {
    const answer = await get("/api/redirect-loop", { redirect: "manual" });
    expect(answer.status).toBe(302);
    expect(answer.headers.get("location")).toBe("/api/redirect-loop");
  });

  it("breaks off the body that it announced", async () => {
    const answer = await get("/api/broken");
    expect(answer.headers.get("content-length")).toBe("1000");
    await expect(answer.text()).rejects.toThrow();
  });

  it("begins a body and leaves it open", async () => {
    const reader = (await get("/api/stalled")).body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value)).toBe("It begins");
    await reader?.cancel();
  });

  it("sends far more than anybody should read, without saying how much", async () => {
    const answer = await get("/api/huge");
    expect(answer.headers.get("content-length")).toBeNull();
    let bytes = 0;
    for await (const chunk of answer.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > 5_000_000) break;
    }
    expect(bytes).toBeGreaterThan(5_000_000);
  });

  it("still answers afterwards", async () => {
    expect(await (await get("/api/count", { method: "PUT", body: "x" })).text()).toBe("1");
  });
});

describe("every publisher", () => {
  it("serves llms.txt, and each tool with exactly the bytes of its hash", async () => {
    for (const origin of Object.values(publishers.origins)) {
      const llmsTxt = await (await fetch(`${origin}/llms.txt`)).text();
      const index = await fetch(`${origin}/.well-known/agent-skills/index.json`);
      expect(index.headers.get("content-type")).toContain("application/json");
      const { skills } = (await index.json()) as { skills: { tool: string; tool_sha256: string; url: string }[] };
      const served = skills.filter(
        ({ tool, tool_sha256 }) => tool.startsWith("/tools/") && !/^(.)\1{63}$/.test(tool_sha256),
      );
      expect(served.length).toBeGreaterThan(1);
      for (const skill of served.filter(({ tool_sha256 }) => /^[0-9a-f]{64}$/.test(tool_sha256))) {
        const bytes = new Uint8Array(await (await fetch(`${origin}${skill.tool}`)).arrayBuffer());
        expect(createHash("sha256").update(bytes).digest("hex"), skill.tool).toBe(skill.tool_sha256);
        expect(llmsTxt).toContain(skill.tool_sha256);
      }
    }
  });

  it("serves recipes as Markdown", async () => {
    const answer = await fetch(`${publishers.origins.demo}/skills/sum_numbers/SKILL.md`);
    expect(answer.headers.get("content-type")).toContain("text/markdown");
  });

  it("tells the time at the demo", async () => {
    const { now, epoch } = (await (await fetch(`${publishers.origins.demo}/api/time`)).json()) as {
      now: string;
      epoch: number;
    };
    expect(new Date(now).getTime()).toBe(epoch);
  });
});
