import { expect, it } from "vitest";
import { ECHO_TOOLS, exchange, recordingProvider, tool } from "./fixture/exchange.ts";
import type { Era } from "./provider.ts";

const list = (era: Era, more: Omit<Parameters<typeof exchange>[0], "method" | "era"> = {}) =>
  exchange({ era, method: "tools/list", ...more });

it("a list that is asked for again is the same, byte for byte, in the form of each era", async () => {
  const provider = recordingProvider({ tools: [...ECHO_TOOLS] });
  const first = {
    legacy: (await list("legacy", { provider })).text,
    modern: (await list("modern", { provider })).text,
  };
  expect(first.modern).not.toBe(first.legacy);
  expect(JSON.parse(first.modern).result).toMatchObject({ resultType: "complete", ttlMs: 15_000 });
  for (const era of ["legacy", "modern", "modern", "legacy"] as const) {
    expect((await list(era, { provider })).text).toBe(first[era]);
  }
});

it("a list that changed, a page of another size or place, and another server are told apart", async () => {
  const tools = [...ECHO_TOOLS];
  const names = async (more: Parameters<typeof list>[1]) =>
    (await list("legacy", more)).json.result.tools.map(({ name }: { name: string }) => name);
  const provider = recordingProvider({ tools });
  const all = tools.map(({ name }) => name);
  expect(await names({ provider })).toEqual(all);
  expect(await names({ provider, params: { cursor: null } })).toEqual(all);
  expect(await names({ provider, pageSize: 2 })).toEqual(all.slice(0, 2));
  const { nextCursor } = (await list("legacy", { provider, pageSize: 2 })).json.result;
  expect(await names({ provider, pageSize: 2, params: { cursor: nextCursor } })).toEqual(all.slice(2, 4));
  expect(await names({ provider: recordingProvider({ tools: [tool("other")] }) })).toEqual(["other"]);
  const renamed = recordingProvider({ tools, serverInfo: { name: "renamed", version: "2" } });
  expect((await list("modern", { provider: renamed })).text).toContain('"renamed"');
});
