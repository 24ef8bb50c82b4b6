import type { Json, JsonObject } from "../../src/core/json.ts";
import { HOSTILE_CASES, type HostileCase } from "../hostile/cases.ts";
import { SITE_PATHS } from "./site.ts";

/** The ways to run a skill. */
export type Way = "gateway" | "command" | "host" | "node" | "page";

/** What a call must come to: a value, a tool error with this sentence, any tool error, or anything at all as long as it is everywhere the same. */
export type Expected =
  | { readonly value: Json }
  | { readonly error: string | RegExp }
  | { readonly isError: true }
  | { readonly same: true };

/** A skill, a call of it, and what must come of that, the same in every way but for those that are named with a reason. */
export interface MatrixCase {
  readonly name: string;
  /** Of `llms.txt`; the tool of the case is the only one of its scope. */
  readonly scope: string;
  /** The whole `tool.js`, which registers the tool `t`. */
  readonly source: string;
  readonly arguments: JsonObject;
  /** The revision that the client speaks; 2025-11-25 unless said. */
  readonly era: "legacy" | "modern";
  readonly expected: Expected;
  readonly differs: readonly Difference[];
}

/** What a way answers instead, and why it cannot do otherwise. */
export interface Difference {
  readonly ways: readonly Way[];
  readonly why: string;
  readonly expected: Expected;
}

interface Row {
  /** Body of the handler, with `args` in scope. */
  readonly body?: string;
  /** More members of the definition. */
  readonly members?: string;
  readonly source?: string;
  readonly arguments?: JsonObject;
  readonly era?: "modern";
  readonly expected: Expected;
  readonly differs?: readonly Difference[];
}

const value = (body: string, answer: Json, more: Partial<Row> = {}): Row => ({
  body: `return ${body}`,
  expected: { value: answer },
  ...more,
});
const fails = (body: string, error: string | RegExp, more: Partial<Row> = {}): Row => ({
  body,
  expected: { error },
  ...more,
});
const same = (body: string): Row => ({ body, expected: { same: true } });

const ADDRESS = `inputSchema: { type: "object", required: ["street"], additionalProperties: false, properties: {
  street: { type: "string", minLength: 2, pattern: "^[A-Z]" },
  floors: { type: "array", maxItems: 2, items: { type: "integer", minimum: 0 } },
  kind: { enum: ["home", "work"] } } }`;
const refused = (args: JsonObject, error: string | RegExp): Row => ({
  body: "return 'let in'",
  members: ADDRESS,
  arguments: args,
  expected: { error },
});

const TEXT = "ä €  😀 é אב \u2028 \u0000 \ufeff \u{10ffff}";
const BIG = "x€😀".repeat(40_000);

const GOOD: Readonly<Record<string, Row>> = {
  "an object": value("{ a: 1, b: [true, null, 'x'], c: { d: 0.1 + 0.2 } }", {
    a: 1,
    b: [true, null, "x"],
    c: { d: 0.1 + 0.2 },
  }),
  "a number": value("args.a + args.b", 42, { arguments: { a: 19.5, b: 22.5 } }),
  "numbers at their edges": value("[2 ** 53, -0, 1e21, 5e-324, 1.7976931348623157e308, NaN, 1 / 0]", [
    2 ** 53,
    0,
    1e21,
    5e-324,
    Number.MAX_VALUE,
    null,
    null,
  ]),
  nothing: value("undefined", null),
  "text of all planes, there and back": value("args.text", TEXT, { arguments: { text: TEXT } }),
  "half a surrogate pair": value("['\\ud800', '\\udc00x'.length]", ["\ud800", 2]),
  "arguments and a result of hundreds of thousands of bytes": value("args.text", BIG, { arguments: { text: BIG } }),
  "keys in their order": value("{ b: 1, 2: 2, a: 3, 1: 4, '': 5, 'ü': 6 }", {
    b: 1,
    2: 2,
    a: 3,
    1: 4,
    "": 5,
    ü: 6,
  }),
  "a key __proto__, there and back": value("args", JSON.parse('{"__proto__":{"x":1},"constructor":2}'), {
    arguments: JSON.parse('{"__proto__":{"x":1},"constructor":2}'),
  }),
  "something deep": value(
    "JSON.parse('['.repeat(60) + ']'.repeat(60))",
    JSON.parse(`${"[".repeat(60)}${"]".repeat(60)}`),
  ),
  "an async handler": value("(async () => { await null; return [await 1, await (async () => 2)()] })()", [1, 2]),
  "a script with CRLF, a byte order mark and a comment that ends nowhere": {
    source: "\ufeff// one\r\nregisterTool({\r\n  name: 't', handler: () => `a\r\nb` }) // end",
    expected: { value: "a\nb" },
  },
  "a fresh state in each call": {
    source: "let n = 0; globalThis.kept ??= 0; registerTool({ name: 't', handler: () => [n++, kept++] })",
    expected: { value: [0, 0] },
  },
  "a result that its schema describes": value("[1, 2]", [1, 2], {
    members: "outputSchema: { type: 'array', items: { type: 'integer' } }",
  }),
  "what a client of 2026-07-28 was shown a schema of": value("[1, 2]", [1, 2], {
    members: "outputSchema: { type: 'array', items: { type: 'integer' } }",
    era: "modern",
  }),
  "an object to a client of 2026-07-28": value("{ a: 1 }", { a: 1 }, { era: "modern" }),
};

/** What of the platform a tool can see: nothing but the engine. */
const PLATFORM: Readonly<Record<string, Row>> = {
  "names of the global object": same("return Object.getOwnPropertyNames(globalThis)"),
  "what host has": value("[Object.getOwnPropertyNames(host), Object.isFrozen(host), typeof host.memorySearch]", [
    ["fetchOrigin", "memorySearch"],
    true,
    "undefined",
  ]),
  "the time zone and the language": value(
    "[new Date(0).getTimezoneOffset(), new Date(2026, 6, 1).toISOString(), new Date(0).toString(), (1234.5).toLocaleString(), typeof Intl]",
    [0, "2026-07-01T00:00:00.000Z", "Thu Jan 01 1970 00:00:00 GMT+0000", "1234.5", "undefined"],
  ),
  "transcendental numbers": same(
    "return [Math.sin(1e5), Math.cos(1e22), Math.tan(1.5), Math.exp(1), Math.expm1(1e-9), Math.log(10), Math.pow(1.1, 100), Math.tanh(0.5), Math.cbrt(2), Math.hypot(3, 4, 5), Math.atan2(1, 3), Math.fround(0.1)]",
  ),
  "sorting, matching, folding": value(
    "[['b', 'a', 'ä', 'Z', '10', '9'].sort(), 'ﬁ Å'.normalize('NFKD').length, 'aéz'.toUpperCase(), 'ä'.localeCompare('b') > 0, /^\\p{Lu}\\p{Script=Greek}$/u.test('ÄΩ'), 'a-b'.split(/(-)/)]",
    [["10", "9", "Z", "a", "b", "ä"], 5, "AÉZ", true, true, ["a", "-", "b"]],
  ),
  "how deep a recursion goes": same("let depth = 0; (function f() { depth++; f() })(); return depth"),
  "an error's own words": fails("null.x", /cannot read property 'x' of null/),
  "the stack of an error": same("return new Error('x').stack"),
};

const REFUSALS: Readonly<Record<string, Row>> = {
  "arguments that the schema allows": {
    body: "return args",
    members: ADDRESS,
    arguments: { street: "Éa", floors: [0, 7] },
    expected: { error: /\/street/ },
  },
  "a missing argument": refused({}, /street/),
  "an argument of the wrong type": refused({ street: 7 }, /\/street/),
  "an argument that is too short": refused({ street: "A" }, /\/street/),
  "an argument too many": refused({ street: "Ab", "x/y~z": 1 }, /x/),
  "an item deep inside": refused({ street: "Ab", floors: [1, -1] }, /\/floors\/1/),
  "too many items": refused({ street: "Ab", floors: [1, 2, 3] }, /\/floors/),
  "none of a list of values": refused({ street: "Ab", kind: "other" }, /\/kind/),
  "a pattern that backtracks": {
    body: "return 'let in'",
    members: "inputSchema: { type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } }",
    arguments: { s: `${"a".repeat(40)}!` },
    expected: { error: /./ },
  },
  "a result that breaks its own schema": fails("return { n: 'one' }", /outputSchema at \/n/, {
    members: "outputSchema: { type: 'object', properties: { n: { type: 'number' } } }",
  }),
};

const ERRORS: Readonly<Record<string, Row>> = {
  "an error": fails("throw new Error('no such book')", /no such book/),
  "an error of a class of its own": fails(
    "throw new (class Lost extends TypeError { name = 'Lost' })('gone ü\u2028')",
    /gone ü/,
  ),
  "a text that is thrown": fails("throw 'plain'", /plain/),
  "an object that is thrown": fails("throw { code: 7 }", /./),
  "nothing that is thrown": fails("throw undefined", /./),
  "a promise that rejects": fails("return Promise.reject(new RangeError('later'))", /later/),
  "an error of 100,000 characters": fails("throw new Error('long '.repeat(20000))", /long/),
};

const HIDES_REDIRECTS: Difference = {
  ways: ["page"],
  why: "a page cannot see where an answer redirects to, so none is followed",
  expected: {
    error: /The origin redirects, and this platform hides where to\./,
  },
};

const FETCHES: Readonly<Record<string, Row>> = {
  "what its site answers": value(`host.fetchOrigin("${SITE_PATHS.text}")`, {
    status: 200,
    body: "grüße",
    truncated: false,
    bytes: 7,
    contentLength: 7,
  }),
  "what it sends": value(
    `JSON.parse(host.fetchOrigin("/echo?q=%C3%BC&r", { method: "post", body: '{"ü":1}', contentType: "application/vnd.x+json" }).body)`,
    { method: "POST", path: "/echo?q=%C3%BC&r", type: "application/vnd.x+json", body: '{"ü":1}' },
  ),
  "an error of its site": value(`host.fetchOrigin("${SITE_PATHS.missing}").status`, 404),
  "an answer without a body": value(`host.fetchOrigin("${SITE_PATHS.empty}")`, {
    status: 204,
    body: "",
    truncated: false,
    bytes: 0,
    contentLength: null,
  }),
  "an answer that is cut": value(
    `(({ body, ...rest }) => ({ ...rest, length: body.length, end: body.slice(-2) }))(host.fetchOrigin("${SITE_PATHS.long}"))`,
    { status: 200, truncated: true, bytes: 65_535, contentLength: 90_000, length: 21_845, end: "€€" },
  ),
  "bytes that are no text": value(`host.fetchOrigin("${SITE_PATHS.bytes}").body`, "a\ufffd\ufffdb\u0000"),
  "an answer that came compressed": value(
    `(({ status, body, truncated, bytes }) => ({ status, body, truncated, bytes }))(host.fetchOrigin("${SITE_PATHS.gzip}"))`,
    { status: 200, body: "packed", truncated: false, bytes: 6 },
  ),
  "many answers at once": value(
    `Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(async (n) => JSON.parse((await host.fetchOrigin("/echo?" + n)).body).path))`,
    [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `/echo?${n}`),
  ),
  "a redirect inside": value(`host.fetchOrigin("${SITE_PATHS.redirect}").body`, "grüße", {
    differs: [HIDES_REDIRECTS],
  }),
  "a redirect that leads away": fails(`return host.fetchOrigin("${SITE_PATHS.away}").body`, /outside the origin/, {
    differs: [HIDES_REDIRECTS],
  }),
  "a redirect without an end": fails(
    `return host.fetchOrigin("${SITE_PATHS.loop}").body`,
    /redirects more than 5 times/,
    { differs: [HIDES_REDIRECTS] },
  ),
  "another site": fails('host.fetchOrigin("https://elsewhere.example/x")', /outside the origin/),
  "another site without a scheme": fails('host.fetchOrigin("//elsewhere.example/x")', /outside the origin/),
  "another site behind a backslash": fails('host.fetchOrigin("\\\\\\\\elsewhere.example\\\\x")', /outside the origin/),
  "another port of its host": fails('host.fetchOrigin("http://127.0.0.1:1/x")', /outside the origin/),
  "no address": fails('host.fetchOrigin("http://[")', /invalid URL/),
  "a file of another kind": fails('host.fetchOrigin("data:text/plain,x")', /outside the origin/),
  "a method that is not allowed": fails('host.fetchOrigin("/x", { method: "PUT" })', /method not allowed: PUT/),
  "a body with GET": fails('host.fetchOrigin("/x", { body: "x" })', /body not allowed with GET/),
  "a body that is too large": fails(
    'host.fetchOrigin("/x", { method: "POST", body: "€".repeat(6000) })',
    /body exceeds 16384 bytes/,
  ),
  "one fetch too many": fails('for (let n = 0; n < 51; n++) host.fetchOrigin("/echo?" + n)', /50/),
  "an error that it catches": value(
    '(() => { try { host.fetchOrigin("https://elsewhere.example") } catch ({ name, message }) { return [name, message] } })()',
    ["Error", "outside the origin: https://elsewhere.example"],
  ),
};

/** Tools of the scope that has a memory. */
const SEARCHES: Readonly<Record<string, Row>> = {
  "what a memory has": {
    body: "return host.memorySearch('refund days', 2)",
    expected: { same: true },
  },
  "what a memory has not": value("host.memorySearch('zebra')", { hits: [] }),
  "what no search can be": value("host.memorySearch('')", {
    error: "memorySearch: the query (q) must be a non-empty string",
  }),
  "a search that is too long": fails("host.memorySearch('x'.repeat(1025))", /1024/),
  "how many it may be": { body: "return host.memorySearch('the', 99).hits.length", expected: { same: true } },
};

const ONE_OF_A_KIND = (hostile: HostileCase) => JSON.stringify([hostile.atLoad, hostile.expected]);
/** Cases in which a tool spoils what it can reach: wherever it runs, it spoils the same. */
const SPOILS = ({ expected }: HostileCase) => !("code" in expected);

/** One hostile tool of each kind, and all that meddle with prototypes, with the engine's own objects or with where host functions may be called. */
const HOSTILE: readonly HostileCase[] = HOSTILE_CASES.filter(
  (hostile, index) =>
    !hostile.atLoad &&
    (SPOILS(hostile) || HOSTILE_CASES.findIndex((other) => ONE_OF_A_KIND(other) === ONE_OF_A_KIND(hostile)) === index),
);

function ofHostile({ expected }: HostileCase): Expected {
  if ("code" in expected) return { isError: true };
  return "value" in expected ? { value: expected.value } : { same: true };
}

let scopes = 0;

function casesOf(group: string, rows: Readonly<Record<string, Row>>): readonly MatrixCase[] {
  return Object.entries(rows).map(([name, row]) => ({
    name: `${group}: ${name}`,
    scope: `${group}_${scopes++}`,
    source: row.source ?? `registerTool({ name: "t", handler(args) { ${row.body} }, ${row.members ?? ""} })`,
    arguments: row.arguments ?? {},
    era: row.era ?? "legacy",
    expected: row.expected,
    differs: row.differs ?? [],
  }));
}

/** The scopes of these have a memory. */
export const SEARCHING = casesOf("memory", SEARCHES);

export const MATRIX: readonly MatrixCase[] = [
  ...casesOf("good", GOOD),
  ...casesOf("platform", PLATFORM),
  ...casesOf("arguments", REFUSALS),
  ...casesOf("errors", ERRORS),
  ...casesOf("fetch", FETCHES),
  ...SEARCHING,
  ...HOSTILE.flatMap((hostile) =>
    casesOf("hostile", { [hostile.name]: { source: hostile.source, expected: ofHostile(hostile) } }),
  ),
];
