import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exchange, recordingProvider, tool } from "./fixture/exchange.ts";
import { DEFAULT_PAGE_SIZE, paginate } from "./pages.ts";

const named = (count: number) => Array.from({ length: count }, (_, i) => tool(`tool-${i}`));

async function listAll(tools: ReturnType<typeof named>, pageSize?: number) {
  const provider = recordingProvider({ tools });
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const { json } = await exchange({
      method: "tools/list",
      params,
      provider,
      ...(pageSize === undefined ? {} : { pageSize }),
    });
    pages.push(json.result.tools.map(({ name }: { name: string }) => name));
    cursor = json.result.nextCursor;
  } while (cursor !== undefined);
  return pages;
}

describe("pages", () => {
  it("hold every entry once, in order", async () => {
    const pages = await listAll(named(7), 3);
    expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
    expect(pages.flat()).toEqual(named(7).map(({ name }) => name));
  });

  it("end without a cursor when the last one is full, or the list is empty", async () => {
    expect((await listAll(named(6), 3)).map((page) => page.length)).toEqual([3, 3]);
    expect(await listAll([], 3)).toEqual([[]]);
  });

  it("[budget:page size] are one up to 300 entries, and two beyond", async () => {
    for (const [count, pages] of [
      [DEFAULT_PAGE_SIZE - 1, 1],
      [DEFAULT_PAGE_SIZE, 1],
      [DEFAULT_PAGE_SIZE + 1, 2],
    ] as const) {
      expect(await listAll(named(count))).toHaveLength(pages);
    }
  });

  it("page resources and templates too", async () => {
    const provider = recordingProvider({
      resources: [1, 2, 3].map((n) => ({ uri: `skill://${n}`, name: String(n) })),
      resourceTemplates: [1, 2].map((n) => ({ uriTemplate: `skill://${n}/{id}`, name: String(n) })),
    });
    const resources = await exchange({ method: "resources/list", provider, pageSize: 2 });
    expect(resources.json.result.resources).toHaveLength(2);
    const templates = await exchange({ method: "resources/templates/list", provider, pageSize: 1 });
    const params = { cursor: templates.json.result.nextCursor };
    const rest = await exchange({ method: "resources/templates/list", params, provider, pageSize: 1 });
    expect(rest.json.result.resourceTemplates).toMatchObject([{ name: "2" }]);
  });

  it("repeat nothing when the list grows or shrinks in between", () => {
    const key = (entry: string) => entry;
    const { nextCursor } = paginate("tools", ["a", "b", "c", "d"], key, undefined, 2);
    expect(paginate("tools", ["0", "a", "b", "c", "d"], key, nextCursor, 2).entries).toEqual(["c", "d"]);
    expect(paginate("tools", ["b", "d"], key, nextCursor, 2).entries).toEqual(["d"]);
  });
});

describe("an invalid cursor", () => {
  const key = (entry: string) => entry;
  const all = ["a", "b", "c"];
  const { nextCursor: ours } = paginate("tools", all, key, undefined, 2);

  it("is -32602 in every list and both eras", async () => {
    for (const era of ["legacy", "modern"] as const) {
      for (const method of ["tools/list", "resources/list", "resources/templates/list", "prompts/list"]) {
        for (const cursor of ["x", "", 5, {}, "!!!", "A".repeat(10_000)]) {
          const { status, json } = await exchange({ era, method, params: { cursor } });
          expect([status, json.error.code]).toEqual([200, -32602]);
        }
      }
    }
  });

  it("is one of another list, or of an entry that is gone", () => {
    expect(() => paginate("resources", all, key, ours, 2)).toThrow("params.cursor is invalid");
    expect(() => paginate("tools", ["a", "c"], key, ours, 2)).toThrow("the list has changed");
  });

  it("is whatever was not sent, whatever its characters", () => {
    fc.assert(
      fc.property(fc.string(), (cursor) => {
        if (cursor !== ours) expect(() => paginate("tools", all, key, cursor, 2)).toThrow("params.cursor");
      }),
    );
  });
});

it("a cursor carries any key there and back", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ unit: "grapheme" }), { minLength: 2, maxLength: 20 }),
      fc.nat(5),
      (keys, extra) => {
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = paginate("tools", keys, (key) => key, cursor, extra + 1);
          seen.push(...page.entries);
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        expect(seen).toEqual(keys);
      },
    ),
  );
});
