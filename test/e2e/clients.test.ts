import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../src/dev/stack/paths.ts";
import { type Stack, startStack } from "../../src/dev/stack.ts";
import { Caller } from "./caller.ts";
import { CLIENTS, type Connect, type ConnectedClient } from "./mcp-clients.ts";

let stack: Stack;
let home: string;
let caller: Caller;
const open: ConnectedClient[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "skillgate-clients-"));
  stack = await startStack({ port: 0 });
  caller = new Caller(stack);
});

afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});

afterAll(async () => {
  caller?.close();
  await stack?.stop();
  await rm(home, { recursive: true, force: true });
});

type Form = "query" | "path";

/** One resource, two spellings. */
function endpoint(origin: string, form: Form): string {
  return form === "query"
    ? `${stack.url}/mcp?origin=${encodeURIComponent(origin)}`
    : `${stack.url}/mcp/${origin.slice("http://".length)}`;
}

async function connected(connect: Connect, origin: string, form: Form, token = stack.clientToken) {
  const client = await connect({ url: endpoint(origin, form), token, home });
  open.push(client);
  return client;
}

const recipe = (publisher: string, name: string) =>
  readFile(join(ROOT, "publishers", publisher, "public/skills", name, "SKILL.md"), "utf8");

describe.each(CLIENTS)("$name", ({ version, processes, connect }) => {
  const slow = processes !== "none";
  // Each request costs such a client a process: one request of each kind, and one of each publisher.
  const brief = processes === "a request";
  // A slow client takes each form once, with another publisher.
  const forms = (first: Form, second: Form): readonly Form[] => (slow ? [first] : [first, second]);

  it.each(forms("query", "path"))("lists and calls the tools of demo, addressed by %s", async (form) => {
    const client = await connected(connect, stack.origins.demo, form);
    expect(client.protocolVersion).toBe(version);
    expect(await client.listTools()).toEqual(["sum_numbers", "server_time", "get_skill_guide"]);

    expect(await client.callTool("sum_numbers", { a: 40, b: 2 })).toMatchObject({
      content: [{ type: "text", text: "42" }],
      structuredContent: { result: 42 },
    });
    if (brief) return;
    const time = await client.callTool("server_time", {});
    const { now, epoch } = time.structuredContent as { now: string; epoch: number };
    expect(new Date(now).getTime()).toBe(epoch);
  });

  it.each(forms("path", "query"))(
    "lists and calls the tools of bookstore, addressed by %s, without the corrupt one",
    async (form) => {
      const client = await connected(connect, stack.origins.bookstore, form);
      const skills = ["search_catalog", "get_book", "stock_report", "create_order"];
      expect(await client.listTools()).toEqual([...skills, "get_skill_guide"]);

      if (brief) return;
      const found = await client.callTool("search_catalog", { limit: 1 });
      expect(found.isError ?? false).toBe(false);
      const [book] = (found.structuredContent as { books: { id: string }[] }).books;
      expect(book).toBeDefined();
      const one = await client.callTool("get_book", { id: book?.id });
      expect(one.structuredContent).toMatchObject({ id: book?.id });
      const report = await client.callTool("stock_report", {});
      expect(report.structuredContent).toMatchObject({ titles: 52 });
    },
  );

  it("searches the documentation and reads on where a hit breaks off", async () => {
    const client = await connected(connect, stack.origins.docs, "path");
    if (!brief) expect(await client.listTools()).toEqual(["search_docs", "get_doc", "list_docs", "get_skill_guide"]);
    const found = await client.callTool("search_docs", { query: "deterministic gas inside the wasm", k: 3 });
    const { hits } = found.structuredContent as { hits: { concept_id: string; score: number; text: string }[] };
    expect(hits).toHaveLength(3);
    expect(hits.every(({ score }) => score < 0)).toBe(true);
    if (slow) return;
    const [best] = hits;
    const document = await client.callTool("get_doc", { id: best?.concept_id });
    const { content } = document.structuredContent as { content: string };
    expect(content).toContain(best?.text.slice(0, 60).split("\n")[0]);
  });

  it("lists and reads the recipes of bookstore, and is given them by the guide too", async () => {
    const client = await connected(connect, stack.origins.bookstore, "query");
    expect(await client.listResources()).toEqual([
      "skill://search_catalog",
      "skill://get_book",
      "skill://stock_report",
      "skill://create_order",
    ]);
    const text = await recipe("bookstore", "create_order");
    expect(await client.readResource("skill://create_order")).toBe(text);
    if (brief) return;
    expect(await client.callTool("get_skill_guide", { name: "create_order" })).toMatchObject({
      content: [{ type: "text", text }],
    });
  });

  it("is told why arguments are refused", async () => {
    const client = await connected(connect, stack.origins.demo, "path");
    const answer = await client.callTool("sum_numbers", { a: "forty", b: 2 }).catch((error: unknown) => error);
    expect(JSON.stringify(answer)).toContain("/a");
  });
});

describe("an order", () => {
  it("is placed while there is stock, and takes what it ordered", async () => {
    const { stock } = (await caller.value(stack.origins.bookstore, "get_book", { id: "b002" })) as { stock: number };
    const answer = await caller.value(stack.origins.bookstore, "create_order", { book_id: "b002", quantity: 1 });
    expect(answer).toMatchObject({ placed: true, order: { stockLeft: stock - 1 } });
  });

  it("beyond the stock is a 409 of the publisher that reaches the client as an answer, and orders nothing", async () => {
    const before = (await caller.value(stack.origins.bookstore, "get_book", { id: "b003" })) as { stock: number };
    expect(before.stock).toBeLessThan(100);
    const answer = await caller.value(stack.origins.bookstore, "create_order", { book_id: "b003", quantity: 100 });
    expect(answer).toMatchObject({ placed: false, reason: "out_of_stock", stock: before.stock });
    expect(await caller.value(stack.origins.bookstore, "get_book", { id: "b003" })).toEqual(before);
  });

  it("of a book that does not exist is a tool error", async () => {
    const sentence = await caller.failure(stack.origins.bookstore, "create_order", { book_id: "b999" });
    expect(sentence).toContain("No book has this id");
  });
});

describe("a client without a valid token", () => {
  // The inspector is a process that ends with a code of its own; mcp-remote would begin an OAuth dance.
  const direct = CLIENTS.filter(({ name }) => name.startsWith("SDK"));
  it.each(direct)("is refused: $name", async ({ connect }) => {
    await expect(connected(connect, stack.origins.demo, "query", "sg_nonsense")).rejects.toThrow();
  });
});
