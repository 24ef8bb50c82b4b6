import { expect, it } from "vitest";
import { fetchPaths, MAX_PATHS } from "./fetch-paths.ts";

it.each([
  ["host.fetchOrigin('/a')", ["/a"], true],
  ['host.fetchOrigin( "/a", { method: "POST" }); host.fetchOrigin(`/b`)', ["/a", "/b"], true],
  ["host.fetchOrigin('/a'); host.fetchOrigin('/a')", ["/a"], true],
  ["host.fetchOrigin('/a?q=' + q)", ["/a?q=…"], false],
  ["host.fetchOrigin(`/a/$".concat("{id}`)"), ["/a/$".concat("{id}…")], false],
  ["host.fetchOrigin(path)", [], false],
  ["host.fetchOrigin('/a\\x62')", [], false],
  ["host.fetchOrigin('/a", [], false],
  [`host.fetchOrigin('/${"a".repeat(300)}')`, [], false],
  ["const x = 1; ghost.fetch(hostname, $host)", [], true],
  ["host.memorySearch('x'); host.fetchOrigin('/a')", ["/a"], true],
  // The function under another name, or found by a computed one.
  ["const h = host; h.fetchOrigin('/a')", [], false],
  ["const { fetchOrigin } = host; fetchOrigin('/a')", [], false],
  ["host['fetch' + 'Origin']('/a')", [], false],
  ["host?.fetchOrigin('/a')", [], false],
  ["host.fetchOrigin.call(null, '/a')", [], false],
  ["globalThis['ho' + 'st']", [], false],
  ["h\\u006fst.fetchOrigin(x)", [], false],
  ["h\\u{6f}st['x']", [], false],
  ["'caf\\u00e9'", [], true],
])("%s names %j", (source, paths, complete) => {
  expect(fetchPaths(source)).toEqual({ paths, complete });
});

it("names 20 places of a script at most, in bounded time", () => {
  const many = Array.from({ length: 100_000 }, (_, i) => `host.fetchOrigin('/${i}')`).join(";");
  const { paths, complete } = fetchPaths(many);
  expect([paths.length, complete]).toEqual([MAX_PATHS, false]);
});
