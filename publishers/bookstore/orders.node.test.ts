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

interface StoreBook {
  id: string;
  title: string;
  stock: number;
}

let publishers: RunningPublishers;
let stateDir: string;

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "skillgate-bookstore-"));
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

const get = async <T>(path: string) => (await (await fetch(`${publishers.origins.bookstore}${path}`)).json()) as T;
const order = (bookId: string, quantity: number) =>
  fetch(`${publishers.origins.bookstore}/api/orders`, {
    method: "POST",
    body: JSON.stringify({ book_id: bookId, quantity }),
  });

describe("catalog", () => {
  it("holds 52 books", async () => {
    const { total, books } = await get<{ total: number; books: StoreBook[] }>("/api/books?limit=52");
    expect(total).toBe(52);
    expect(books).toHaveLength(52);
  });

  it("finds words of title and author without regard to case, order and accents", async () => {
    const { books } = await get<{ books: StoreBook[] }>(`/api/books?q=${encodeURIComponent("BRONTË jane")}`);
    expect(books.map((book) => book.title)).toEqual(["Jane Eyre"]);
    expect((await get<{ total: number }>("/api/books?q=%25")).total).toBe(0);
  });

  it("combines genre and price", async () => {
    const { books } = await get<{ books: StoreBook[] }>("/api/books?genre=horror&max_price=7.20");
    expect(books.map((book) => book.title)).toEqual(["Carmilla", "The Strange Case of Dr Jekyll and Mr Hyde"]);
  });

  it("names the field of a bad query", async () => {
    const answer = await fetch(`${publishers.origins.bookstore}/api/books?max_price=cheap`);
    expect(answer.status).toBe(400);
    expect(((await answer.json()) as { message: string }).message).toContain("max_price");
  });
});

describe("orders", () => {
  it("[10.2-bookstore-order] a buyer who loses the race for stock leaves no order behind", async () => {
    const book = await get<StoreBook>("/api/books/b002");
    const answers = await Promise.all(Array.from({ length: 40 }, () => order(book.id, 1)));
    const placed = answers.filter((answer) => answer.status === 201);
    const refused = answers.filter((answer) => answer.status === 409);
    expect(placed).toHaveLength(book.stock);
    expect(refused).toHaveLength(40 - book.stock);
    expect((await get<StoreBook>("/api/books/b002")).stock).toBe(0);
    const ids = await Promise.all(placed.map(async (answer) => ((await answer.json()) as { id: string }).id));
    expect(new Set(ids).size).toBe(book.stock);
    for (const answer of refused) {
      expect(await answer.json()).toMatchObject({ error: "out_of_stock", stock: expect.any(Number) });
    }
    expect(await publishers.countOrders("b002")).toBe(book.stock);
  });

  it("places the whole order or nothing", async () => {
    const before = await get<StoreBook>("/api/books/b003");
    const answer = await order("b003", before.stock + 1);
    expect(answer.status).toBe(409);
    expect((await get<StoreBook>("/api/books/b003")).stock).toBe(before.stock);
    expect(await publishers.countOrders("b003")).toBe(0);
    const exact = await order("b003", before.stock);
    expect(exact.status).toBe(201);
    expect(await exact.json()).toMatchObject({ quantity: before.stock, stockLeft: 0 });
  });

  it("answers 404 for an unknown book and 400 for a bad order", async () => {
    expect((await order("b999", 1)).status).toBe(404);
    expect((await order("b001", 0)).status).toBe(400);
    expect((await order("b001", 1.5)).status).toBe(400);
  });
});
