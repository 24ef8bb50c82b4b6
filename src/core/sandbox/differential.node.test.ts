import { getQuickJS, type QuickJSWASMModule } from "quickjs-emscripten";
import { expect, it } from "vitest";
import { loadEngines } from "../../dev/meter/engines.ts";
import type { Json } from "../json.ts";
import { fetchAnswer, newSandbox, script } from "./suites/fixtures.ts";

/** Handlers of ordinary tools, each with arguments: what publishers write, and each corner of the language once. */
const CORPUS: readonly (readonly [body: string, args: Json])[] = [
  ["return args.a + args.b", { a: 2, b: 3 }],
  ["return { sum: args.numbers.reduce((s, n) => s + n, 0), n: args.numbers.length }", { numbers: [1, 2, 3.5] }],
  [
    "return args.text.split(/\\s+/).filter(Boolean).map((w) => w[0].toUpperCase() + w.slice(1)).join(' ')",
    { text: "der  große tag" },
  ],
  ["const counts = {}; for (const c of args.text) counts[c] = (counts[c] ?? 0) + 1; return counts", { text: "aébé😀" }],
  ["return Object.entries(args).sort(([a], [b]) => (a < b ? 1 : -1))", { x: 1, b: [2], a: null }],
  ["return [...new Set(args.list)].sort((a, b) => a - b)", { list: [3, 1, 3, 2, 1] }],
  ["return new Date(args.time).toISOString()", { time: 1_700_000_000_000 }],
  ["return new Date(args.text).getTime()", { text: "2026-02-29T00:00:00Z" }],
  ["return [0.1 + 0.2, 1e21, -0, 5e-324, 1 / 3, 2 ** 53, 123456789012345680000]", {}],
  ["return [(0.1).toFixed(20), (255).toString(16), (1e21).toString(7), Number('0x1f'), parseFloat('1e3x')]", {}],
  ["return [10n ** 20n + 1n, -7n / 2n, BigInt.asUintN(8, 257n)].map(String)", {}],
  ["return 'aXbX'.replace(/x/gi, (m, i) => m + i)", {}],
  ["return [...args.text.matchAll(/(?<k>\\w+)=(?<v>\\d+)/g)].map((m) => ({ ...m.groups }))", { text: "a=1, b=22" }],
  ["return args.text.normalize('NFD').replace(/\\p{M}/gu, '')", { text: "Ångström café" }],
  ["return ['ä', 'a', 'z', 'Z'].sort((x, y) => x.localeCompare(y))", {}],
  ["return JSON.parse(args.json, (k, v) => (typeof v === 'number' ? v * 2 : v))", { json: '{"a":[1,{"b":2}]}' }],
  ["return JSON.stringify({ a: [1, { b: 2 }], c: undefined }, null, 2)", {}],
  [
    "class A { #x = 1; get x() { return this.#x } static of() { return new this() } } class B extends A { get x() { return super.x + 1 } } return B.of().x",
    {},
  ],
  ["function* g(n) { for (let i = 0; i < n; i++) yield i ** 2 } return [...g(5)]", {}],
  ["const { a, ...rest } = args; return [a, rest]", { a: 1, b: 2, c: 3 }],
  ["return [1, [2, [3, [4]]]].flat(2)", {}],
  ["return Array.from({ length: 3 }, (_, i) => i * 2).concat([[9]]).findLast((x) => x)", {}],
  ["return [3, 1, 2].toSorted().with(0, 9)", {}],
  ["return Object.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even'))", {}],
  ["const m = new Map([['a', 1]]); m.set('b', 2); return [...m].map(([k, v]) => k + v)", {}],
  ["return new Uint8Array([1, 300, -1])", {}],
  ["return [...new TextEncoder().encode('x')]", {}],
  ["const t = new Proxy({}, { get: (_, k) => String(k) }); return t.hello", {}],
  ["return typeof Intl + typeof structuredClone + typeof queueMicrotask", {}],
  ["label: for (let i = 0; i < 3; i++) { for (;;) { if (i === 1) break label; continue label } } return 'done'", {}],
  ["try { null.x } catch (e) { return [e.name, e.message] }", {}],
  ["try { undefinedName } catch (e) { return [e.name, e.message] }", {}],
  ["try { eval('1 +') } catch (e) { return e.name }", {}],
  ["return eval('1 + 1') + new Function('a', 'return a * 2')(4)", {}],
  ["throw new Error('plain')", {}],
  ["throw new TypeError('typed')", {}],
  ["throw 'text'", {}],
  ["return args.missing.field", {}],
  ["return Promise.resolve(args.x)", { x: [1] }],
  ["return Promise.reject(new Error('late'))", {}],
  ["return (async () => { let s = 0; for (let i = 0; i < 300; i++) s += await i; return s })()", {}],
  ["return Promise.all([1, Promise.resolve(2), (async () => 3)()])", {}],
  ["return Promise.allSettled([Promise.reject(1), 2])", {}],
  ["return Promise.any([Promise.reject(1), Promise.resolve(2)])", {}],
  ["return Promise.race([new Promise(() => {}), Promise.resolve('first')])", {}],
  [
    "const order = []; Promise.resolve().then(() => order.push('job')); order.push('sync'); return Promise.resolve().then(() => order)",
    {},
  ],
  ["return host.fetchOrigin('/a?b=c')", {}],
  ["return host.fetchOrigin('/a').body + host.fetchOrigin('/b').body", {}],
  ["return { toJSON() { return { own: true } } }", {}],
  ["return [undefined, () => 1, NaN, Infinity, new Date(0), new Map([[1, 2]]), /x/]", {}],
  ["return undefined", {}],
  ["return args", { "": "", "\u2028": "\u0000", __proto__: null, nested: [[[]]] }],
  ["return Object.getOwnPropertyNames(Array.prototype).length > 30", {}],
  ["return this.name", {}],
  ["return typeof arguments[1]", {}],
];

type Result = { readonly value: Json } | { readonly error: string };

/** The stock library, used plainly: a fresh context for each call. */
function runStock(quickjs: QuickJSWASMModule, body: string, args: Json): Result {
  const context = quickjs.newContext();
  context.runtime.setMaxStackSize(128 * 1024);
  const fetch = context.newFunction("fetch", (path) =>
    context.newString(JSON.stringify(fetchAnswer(context.getString(path)))),
  );
  context.setProp(context.global, "fetchText", fetch);
  fetch.dispose();
  const code = `
    let tool, outcome = null;
    const stringify = JSON.stringify, fetchText = globalThis.fetchText;
    globalThis.registerTool = (t) => { tool = t };
    globalThis.host = { fetchOrigin: (path) => JSON.parse(fetchText(String(path))) };
    const fail = (e) => { outcome = stringify({ error: e?.message || (typeof e === "string" ? e : stringify(e)) }) };
    const finish = (v) => { outcome = v === undefined ? '{"value":null}' : '{"value":' + stringify(v) + "}" };
    registerTool({ name: "t", handler(args) { ${body} } });
    try { Promise.resolve(tool.handler(JSON.parse(${JSON.stringify(JSON.stringify(args))}))).then(finish).catch(fail) } catch (e) { fail(e) }`;
  context.unwrapResult(context.evalCode(code)).dispose();
  context.runtime.executePendingJobs();
  const outcome = context.unwrapResult(context.evalCode("outcome")).consume((handle) => context.dump(handle) as string);
  context.dispose();
  return JSON.parse(outcome) as Result;
}

const quickjs = await getQuickJS();

for (const engine of await loadEngines()) {
  it(`gives the same results as the stock quickjs-emscripten on ${engine.kind}`, async () => {
    const sandbox = newSandbox(engine);
    for (const [body, args] of CORPUS) {
      const expected = runStock(quickjs, body, args);
      const tool = script(`registerTool({ name: "t", handler(args) { ${body} } })`);
      const outcome = await sandbox.call(tool, args, { fetchOrigin: async (path) => fetchAnswer(path) });
      const actual: Result = outcome.ok ? { value: outcome.value } : { error: outcome.message };
      expect(actual, body).toEqual(expected);
    }
  });
}
