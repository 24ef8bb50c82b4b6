import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AdminClient } from "../../src/dev/stack/admin-client.ts";
import { onboardOrigin } from "../../src/dev/stack/onboarding.ts";
import { ROOT } from "../../src/dev/stack/paths.ts";
import { type Stack, startStack } from "../../src/dev/stack.ts";
import { run } from "../../src/local/fixture/running.ts";

interface ToolAnswer {
  content: { type: string; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** What site.json of the hostile publisher says must come of a skill. */
interface Expectation {
  readonly name: string;
  readonly expect: { readonly call: string } | { readonly rejected: string };
}

const site = JSON.parse(await readFile(join(ROOT, "publishers/hostile/site.json"), "utf8")) as {
  skills: Expectation[];
};

/** A part of the sentence by which a client can tell the codes apart. */
const SENTENCES: Readonly<Record<string, RegExp>> = {
  gas_exhausted: /^gas exhausted/,
  did_not_settle: /can never settle/,
  out_of_memory: /^out of memory/,
  stack_overflow: /call stack size exceeded/,
  result_too_large: /^result too large/,
  tool_error: /./,
  failed: /./,
};

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ port: 0 });
}, 180_000);

afterAll(() => stack?.stop());

async function rpc<T>(origin: string, method: string, params: object): Promise<T> {
  const answer = await fetch(`${stack.url}/mcp?origin=${encodeURIComponent(origin)}`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${stack.clientToken}`,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { result: T }).result;
}

const call = (origin: string, name: string, args: object = {}) =>
  rpc<ToolAnswer>(origin, "tools/call", { name, arguments: args });

async function listed(origin: string): Promise<string[]> {
  const { tools } = await rpc<{ tools: { name: string }[] }>(origin, "tools/list", {});
  return tools.map((tool) => tool.name);
}

describe("all of them", () => {
  it("let pages of other sites read their files, their APIs and what they do not have", async () => {
    const paths = ["/llms.txt", "/.well-known/agent-skills/index.json", "/.well-known/agent-skills/attestations.json"];
    const urls = Object.values(stack.origins).flatMap((origin) => paths.map((path) => origin + path));
    for (const url of [...urls, `${stack.origins.demo}/api/time`, `${stack.origins.bookstore}/api/genres`]) {
      const { headers } = await fetch(url, { headers: { Origin: "null" } });
      expect(headers.get("Access-Control-Allow-Origin"), url).toBe("*");
    }
  });
});

describe("demo", () => {
  it("adds and tells the time", async () => {
    const { demo } = stack.origins;
    expect(await listed(demo)).toEqual(["sum_numbers", "server_time", "get_skill_guide"]);
    expect((await call(demo, "sum_numbers", { a: 2, b: 3 })).structuredContent).toEqual({ result: 5 });
    expect((await call(demo, "server_time")).structuredContent).toEqual({
      now: expect.stringMatching(/^\d{4}-.*Z$/),
      epoch: expect.any(Number),
    });
  });

  it("gets an error that names the argument when one is of the wrong type", async () => {
    const answer = await call(stack.origins.demo, "sum_numbers", { a: "2", b: 3 });
    expect(answer.isError).toBe(true);
    expect(answer.content[0]?.text).toContain("a");
  });
});

describe("bookstore", () => {
  it("lists four skills and the guide to them, and rejects the corrupt one by its hash", async () => {
    expect(await listed(stack.origins.bookstore)).toEqual([
      "search_catalog",
      "get_book",
      "stock_report",
      "create_order",
      "get_skill_guide",
    ]);
    expect(stack.probes.bookstore.rejected).toMatchObject([{ name: "corrupt_skill", code: "hash_mismatch" }]);
  });

  it("searches, looks and counts with several requests in a row", async () => {
    const { bookstore } = stack.origins;
    const found = await call(bookstore, "search_catalog", { q: "bronte jane" });
    expect(found.structuredContent).toMatchObject({ total: 1, books: [{ id: "b011", author: "Charlotte Brontë" }] });
    expect((await call(bookstore, "get_book", { id: "b011" })).structuredContent).toMatchObject({ title: "Jane Eyre" });
    expect((await call(bookstore, "stock_report")).structuredContent).toMatchObject({ titles: 52 });
    const missing = await call(bookstore, "get_book", { id: "b999" });
    expect(missing).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("b999") }] });
  });

  it("of 16 buyers at once as many get the book as there are copies, and the others are told so", async () => {
    const { bookstore } = stack.origins;
    const before = (await call(bookstore, "get_book", { id: "b016" })).structuredContent as { stock: number };
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => call(bookstore, "create_order", { book_id: "b016" })),
    );
    expect(answers.every((answer) => answer.isError !== true)).toBe(true);
    expect(answers.filter((answer) => answer.structuredContent?.placed === true)).toHaveLength(before.stock);
    const refused = answers.filter((answer) => answer.structuredContent?.placed === false);
    expect(refused).toHaveLength(16 - before.stock);
    for (const answer of refused) expect(answer.structuredContent).toMatchObject({ reason: "out_of_stock" });
    expect((await call(bookstore, "get_book", { id: "b016" })).structuredContent).toMatchObject({ stock: 0 });
  });
});

describe("docs", () => {
  const hitsOf = async (query: string, k?: number) =>
    (await call(stack.origins.docs, "search_docs", k === undefined ? { query } : { query, k })).structuredContent
      ?.hits as {
      concept_id: string;
    }[];

  it("finds the page that a question is about, and nothing for what no page says", async () => {
    expect(await listed(stack.origins.docs)).toEqual(["search_docs", "get_doc", "list_docs", "get_skill_guide"]);
    expect((await hitsOf("order stock transaction of the bookstore", 1))[0]?.concept_id).toBe(
      "publishers/bookstore/README",
    );
    expect(await hitsOf("gateway")).toHaveLength(5);
    expect(await hitsOf("gateway", 8)).toHaveLength(8);
    expect(await hitsOf("receta paella valenciana")).toEqual([]);
  });

  it("lists its documents and returns each of them whole", async () => {
    const { docs } = stack.origins;
    const { documents } = (await call(docs, "list_docs")).structuredContent as {
      documents: { id: string; characters: number }[];
    };
    expect(documents.map(({ id }) => id)).toContain("ARCHITECTURE");
    for (const { id, characters } of documents) {
      const { content, truncated } = (await call(docs, "get_doc", { id })).structuredContent as {
        content: string;
        truncated: boolean;
      };
      expect([[...content].length, truncated], id).toEqual([characters, false]);
    }
    expect(await call(docs, "get_doc", { id: "../secret" })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("list_docs") }],
    });
  });
});

describe("hostile", () => {
  const called = site.skills.flatMap(({ name, expect: e }) => ("call" in e ? [[name, e.call] as const] : []));
  const refused = site.skills.flatMap(({ name, expect: e }) => ("rejected" in e ? [[name, e.rejected] as const] : []));

  it.each(refused)("%s is rejected with %s", async (name, code) => {
    const found = stack.probes.hostile.rejected.find(
      (rejection) => rejection.name === name && rejection.subject === "skill",
    );
    // The last ones may find the gas of the discovery used up by those before.
    expect([code, ...(code === "gas_exhausted" ? ["deferred"] : [])]).toContain(found?.code);
  });

  it("lists exactly the skills that can be listed", async () => {
    expect((await listed(stack.origins.hostile)).sort()).toEqual(
      ["get_skill_guide", ...called.map(([name]) => name)].sort(),
    );
  });

  it.each(called)("%s ends as %s, and its neighbour answers right afterwards", async (name, outcome) => {
    const { hostile } = stack.origins;
    const args = name === "schema_regex" ? { text: `${"a".repeat(40)}b` } : {};
    const answer = await call(hostile, name, args);
    if (outcome !== "any") expect(answer.isError === true, JSON.stringify(answer)).toBe(outcome !== "ok");
    if (answer.isError) expect(answer.content[0]?.text).toMatch(SENTENCES[outcome] ?? /./);
    expect((await call(hostile, "honest")).structuredContent).toEqual({ result: "ok" });
  });

  it("never shows a tool what lies behind a redirect", async () => {
    const answer = await call(stack.origins.hostile, "fetch_redirect_away");
    expect(JSON.stringify(answer)).not.toContain("belongs to another origin");
  });

  it("lets no call see what an earlier one left behind", async () => {
    const { hostile } = stack.origins;
    await call(hostile, "prototype_tampering");
    expect((await call(hostile, "prototype_probe")).structuredContent).toEqual({ result: "clean" });
    for (let i = 0; i < 3; i++) {
      expect((await call(hostile, "global_counter")).structuredContent).toEqual({ result: 1 });
    }
  });
});

describe("a site that the gateway hosts", () => {
  const publishFolder = (folder: string, ...args: string[]) =>
    run(["publish", folder, "--gateway", stack.url, "--site", "demo", ...args], {
      cwd: ROOT,
      env: { SKILLGATE_ADMIN_TOKEN: stack.adminToken },
    });
  const publish = (...args: string[]) => publishFolder("publishers/demo/public", ...args);

  it("is published from a folder, goes on where it was, and is a publisher like any other", async () => {
    expect((await publish()).stderr).toContain("unknown_site");
    const first = await publish("--create", "--note", "First.");
    expect(first.stderr).toContain("Published version 1 of demo.");
    expect((await publish()).stderr).toMatch(/Uploaded 0 of \d+ files/);

    const base = `${stack.url}/s/demo`;
    const manifest = await (await fetch(`${base}/.well-known/agent-skills/index.json`)).json();
    const { skills } = manifest as { skills: { url: string; digest: string }[] };
    expect(skills.length).toBeGreaterThan(0);
    for (const { url, digest } of skills) {
      const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
      expect(`sha256:${createHash("sha256").update(bytes).digest("hex")}`).toBe(digest);
    }
    const { probe } = await onboardOrigin(new AdminClient(stack.url, stack.adminToken), base);
    expect(probe.rejected).toEqual([]);
    expect(await listed(base)).toEqual(await listed(stack.origins.demo));
    expect((await call(base, "sum_numbers", { a: 40, b: 2 })).structuredContent).toEqual({ result: 42 });
  });

  it("names the file that is too large for it, and has published nothing", async () => {
    const folder = await mkdtemp(join(tmpdir(), "skillgate-large-"));
    try {
      await writeFile(join(folder, "llms.txt"), "# Large\n");
      await writeFile(join(folder, "large.txt"), "x".repeat(5_242_881));
      const { code, stderr } = await publishFolder(folder, "--create");
      expect([code, stderr]).toEqual([1, expect.stringMatching(/large\.txt was not taken: .*5242880 bytes/)]);
      expect(stderr).not.toContain("Published");
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("the stack", () => {
  it("runs the cron handler on demand", async () => {
    await stack.runScheduled();
    expect(await readFile(stack.logFile, "utf8")).toContain('"event":"cron"');
  });

  it("writes a log without tokens", async () => {
    const log = await readFile(stack.logFile, "utf8");
    expect(log).toContain('"tool":"sum_numbers"');
    expect(log).not.toContain(stack.clientToken);
    expect(log).not.toContain(stack.adminToken);
  });
});
