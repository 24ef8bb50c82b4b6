import type { Json } from "../../src/core/json.ts";
import type { GuestErrorCode } from "../../src/core/sandbox/outcome.ts";

/** What must come of a script: a failure with one of the codes, a value, or any value at all. */
export type Expected =
  | { readonly code: GuestErrorCode | readonly GuestErrorCode[] }
  | { readonly value: Json }
  | { readonly anyValue: true };

export interface HostileCase {
  readonly name: string;
  /** A whole script that should register the tool `t`. */
  readonly source: string;
  /** Whether it fails while it loads, so that discovery rejects it; else a call of its tool ends as expected. */
  readonly atLoad: boolean;
  readonly expected: Expected;
}

/** Cases that end alike and for the same reason. A text is the body of a handler `(args)`. */
interface Group {
  readonly why: string;
  readonly expected: Expected;
  readonly handlers?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

const BIG = "const a = []; a.length = 2 ** 32 - 1;";
const DAG = "let a = ['x']; for (let i = 0; i < 30; i++) a = [a, a];";

const GROUPS: readonly Group[] = [
  {
    why: "endless guest code is stopped by the interrupt handler, which try, catch and finally cannot stop",
    expected: { code: "gas_exhausted" },
    handlers: {
      "endless loop": "while (true) {}",
      "endless loop that catches": "for (;;) { try { while (true) {} } catch {} finally { continue } }",
      "endless generator": "function* g() { for (;;) yield 1 } for (const x of g()) {}",
      "endless await": "return (async () => { for (;;) await null })()",
      "endless thenable": "return { then(resolve) { resolve(this) } }",
      "endless promise jobs that are awaited":
        "return new Promise(() => { (function f() { Promise.resolve().then(f) })() })",
    },
    scripts: {
      "endless loop at load": "while (true) {}",
      "endless promise jobs at load":
        "(function f() { Promise.resolve().then(f) })(); registerTool({ name: 't', handler() {} })",
      "[10.1-F] endless getter in the definition":
        "registerTool({ name: 't', get description() { while (true) {} }, handler() {} })",
      "[10.1-F] endless toJSON in the schema":
        "registerTool({ name: 't', inputSchema: { toJSON() { while (true) {} } }, handler() {} })",
      "[10.1-F] endless proxy as the definition":
        "registerTool(new Proxy({ name: 't', handler() {} }, { get(o, k) { if (k === 'title') for (;;); return o[k] } }))",
    },
  },
  {
    why: "loops inside native functions never look at the interrupt handler; the metered wasm stops them",
    expected: { code: "gas_exhausted" },
    handlers: {
      "Array.from a huge length": "return Array.from({ length: 1e9 }).length",
      "indexOf on an array-like": "return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)",
      "includes on an array-like": "return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)",
      "includes on a sparse array": `${BIG} return a.includes(1)`,
      "lastIndexOf on a sparse array": `${BIG} return a.lastIndexOf(1)`,
      "reverse of a sparse array": `${BIG} return a.reverse().length`,
      "sort of a sparse array": `${BIG} return a.sort().length`,
      "join of a sparse array": "return new Array(2 ** 32 - 1).join('').length",
      "forEach on an array-like": "return Array.prototype.forEach.call({ length: 2 ** 53 - 1 }, () => {})",
      "unshift on an array-like": "return Array.prototype.unshift.call({ length: 2 ** 53 - 10 }, 1)",
      "splice on an array-like": "return Array.prototype.splice.call({ length: 2 ** 53 - 1 }, 0, 1).length",
      "slice on an array-like": "return Array.prototype.slice.call({ length: 2 ** 32 - 1 }, 0).length",
      "concat of an array-like":
        "const o = { length: 2 ** 32 - 1, [Symbol.isConcatSpreadable]: true }; return [].concat(o).length",
      "flat of shared arrays": "let a = [1]; for (let i = 0; i < 30; i++) a = [a, a]; return a.flat(Infinity).length",
      "String of shared arrays": `${DAG} return String(a).length`,
      "JSON of shared arrays": `${DAG} return JSON.stringify(a).length`,
      "nested result": "let a = []; for (let i = 0; i < 20000; i++) a = [a]; return a",
      "shared arrays as the result": `${DAG} return a`,
      "String.raw of an array-like": "return String.raw({ raw: { length: 2 ** 53 - 1 } }).length",
      "quadratic indexOf": "return 'a'.repeat(2e6).indexOf('a'.repeat(1e6) + 'b')",
      "repeated indexOf [10.1-F]":
        "const s = 'a'.repeat(1e6); let n = 0; for (let i = 0; i < 2000; i++) n += s.indexOf('b'); return n",
      "replaceAll that grows": "return 'a'.repeat(1e6).replaceAll('a', 'b'.repeat(1000)).length",
      "concatenation loop": "let s = ''; for (;;) s += 'xxxxxxxxxxxxxxxxxxxxxxxx'",
      "deep rope": "let s = 'a'; for (let i = 0; i < 1e6; i++) s = s + 'b'; return s.length",
      "localeCompare of long strings": "return 'a'.repeat(1e7).localeCompare('a'.repeat(1e7) + 'b')",
      "digits of a huge BigInt": "return (3n ** 1000000n).toString().length",
      "sort with a random comparator":
        "const a = Array.from({ length: 1e5 }, (_, i) => i); a.sort(() => Math.random() - 0.5); return a.length",
      "default sort of many numbers":
        "const a = []; for (let i = 0; i < 300000; i++) a.push((i * 7919) % 1000003); a.sort(); return a.length",
      "sort of a typed array with a comparator": "return new Uint8Array(5e6).sort((x, y) => y - x).length",
      "sort of a large typed array":
        "const a = new Float64Array(2e6); for (let i = 0; i < 2e6; i++) a[i] = (i * 7919) % 1000003; a.sort(); return 1",
      "fill of a typed array, often":
        "const a = new Uint8Array(1e7); for (let i = 0; i < 1e5; i++) a.fill(i); return 1",
      "copyWithin of a typed array, often":
        "const a = new Uint8Array(1e7); for (let i = 0; i < 1e5; i++) a.copyWithin(1, 0); return 1",
      "slice of a typed array, often":
        "const a = new Uint8Array(8e6); for (let i = 0; i < 1e5; i++) a.slice(); return 1",
      "indexOf in a typed array, often":
        "const a = new Uint8Array(1e7); let n = 0; for (let i = 0; i < 2000; i++) n += a.indexOf(1); return n",
      "copies of a long string":
        "let s = 'x'.repeat(1e6), n = 0; for (let i = 0; i < 1e6; i++) { const t = s + 'y'; n += t.length } return n",
      "comparisons of long strings":
        "let s = 'x'.repeat(1e6), t = 'x'.repeat(1e6), n = 0; for (let i = 0; i < 1e6; i++) n += s === t ? 1 : 0; return n",
      "enumeration along a long prototype chain":
        "let o = {}; for (let i = 0; i < 5000; i++) { o = Object.create(o); o['k' + i] = 1 } let n = 0; for (const k in o) n++; return n",
      "local times in a native loop":
        "const a = new Array(1000).fill(0), f = Date.prototype.getHours; for (;;) a.map(f, new Date(0))",
      "encoding of many characters": "const s = '\\u{1f600}'.repeat(1e4); for (;;) encodeURIComponent(s)",
      "join of many short parts": "const a = new Array(50000).fill('ab'); for (;;) a.join()",
      "fetches of long paths over the limit":
        "const p = '/' + 'x'.repeat(250000); for (;;) try { host.fetchOrigin(p) } catch {}",
      "throwing in a loop from functions with long names":
        "const n = 'y'.repeat(20000), o = { [n](k) { if (k) return o[n](k - 1); throw new Error() } }; for (;;) try { o[n](50) } catch {}",
      "classes of characters without case": "for (;;) new RegExp('[^\\\\p{L}\\\\W]', 'ui')",
      "garbage in cycles beside much that lives":
        "const k = []; for (let i = 0; i < 60000; i++) k.push({ i }); for (;;) { const a = {}; a.a = a }",
      "queue of an async generator":
        "async function* g() { for (;;) yield 1 } const x = g(); return Promise.all(Array.from({ length: 20000 }, () => x.next())).then(() => { for (;;); })",
      "eval of a long sum": "return eval('1' + '+1'.repeat(500000))",
      "a long path for fetchOrigin": "return host.fetchOrigin('/' + 'x'.repeat(2e7)).status",
      "a long string that is dropped": "let a = 'x'.repeat(2e7); a = null; return 1",
    },
  },
  {
    why: "the regular expression engine backtracks inside the metered wasm",
    expected: { code: "gas_exhausted" },
    handlers: {
      "nested quantifiers": "return /(a+)+b/.test('a'.repeat(40))",
      "nested groups": "return /^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
      "back reference": "return /(x+x+)+y/.exec('x'.repeat(60))",
      "look-ahead": "return /^(?=(a+)+b)/.test('a'.repeat(40))",
      "quadratic search": "return 'a'.repeat(300000).match(/a*b/)",
    },
  },
  {
    why: "the guest's heap is limited, and the instance that grew is dropped",
    expected: { code: ["out_of_memory", "gas_exhausted"] },
    handlers: {
      "strings in an array": "const a = []; while (1) a.push('x'.repeat(1e6))",
      "strings in an array, caught": "const a = []; while (1) { try { a.push('x'.repeat(1e6)) } catch {} }",
      "buffers, caught and dropped":
        "const a = []; for (;;) { try { a.push(new Uint8Array(5e6)) } catch { a.length = 0 } }",
    },
  },
  {
    why: "the guest's heap is limited",
    expected: { code: "out_of_memory" },
    handlers: {
      "objects in an array": "const list = []; while (1) list.push({ a: 1, b: [1, 2, 3] })",
      "property names": "const o = {}; let i = 0; while (1) o['k' + i++] = i",
      "typed arrays": "const a = []; while (1) a.push(new Uint8Array(1e6))",
      "one huge typed array": "return new Uint8Array(1e9).length",
      "a large Float64Array": "return new Float64Array(5e6).sort().length",
      "a typed array of an array-like": "return new Uint8Array({ length: 4e7 }).length",
      "a growing Map": "const m = new Map(); let i = 0; for (;;) m.set(i++, i)",
      "fill of a huge array": "return new Array(1e9).fill(0).length",
      "fill of an array-like": "return Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 0)",
      "a huge repeat": "return 'x'.repeat(2 ** 30 - 1).length",
      "a huge padStart": "return 'x'.padStart(2 ** 29, 'ab').length",
      "split into many": "return 'a,'.repeat(5e6).split(',').length",
      "normalize of many marks": "return '\\u0344'.repeat(5e6).normalize('NFD').length",
      "encodeURIComponent of much": "return encodeURIComponent('\\u20ac'.repeat(3e6)).length",
      "deeply nested arrays": "let a = []; for (let i = 0; i < 1000000; i++) a = [a]; return a",
      "deeply nested arrays, freed": "let a = []; for (let i = 0; i < 1000000; i++) a = [a]; a = null; return 1",
      "a long list, freed": "let a = null; for (let i = 0; i < 500000; i++) a = { n: a }; a = null; return 1",
      "a long proxy chain": "let p = {}; for (let i = 0; i < 200000; i++) p = new Proxy(p, {}); return p.x",
      "a long prototype chain":
        "let o = {}; for (let i = 0; i < 300000; i++) o = Object.create(o); return o.zzz === undefined",
      "a long class hierarchy":
        "let A = class {}; for (let i = 0; i < 100000; i++) { const B = A; A = class extends B {} } return new A() && 1",
      "a result of 30 MB": "return 'x'.repeat(30e6)",
      "an error message of 30 MB": "throw new Error('x'.repeat(30e6))",
      "memory used up after an await": "return (async () => { await 1; const list = []; for (;;) list.push({}) })()",
    },
  },
  {
    why: "recursion ends at the guest's stack limit, or at the platform's own where native frames are larger",
    expected: { code: "stack_overflow" },
    handlers: {
      recursion: "function f() { return f() + 1 } return f()",
      "recursive getter": "const o = { get x() { return this.x } }; return o.x",
      "recursive toString": "const o = { toString() { return '' + o } }; return '' + o",
      "recursive proxy": "const p = new Proxy({}, { get(t, k, r) { return r[k] } }); return p.x",
      "nested JSON text": "return JSON.parse('['.repeat(1000000) + ']'.repeat(1000000)).length",
      "nested parentheses": "return eval('('.repeat(100000) + '1' + ')'.repeat(100000))",
      "nested operators": "return eval('!'.repeat(200000) + '1')",
      "nested templates": "return eval('`$\\x7b'.repeat(20000) + '1' + '}`'.repeat(20000))",
      "nested arrow functions": "return typeof eval('a=>'.repeat(600) + '1')",
      "nested functions": "return eval('function f(){'.repeat(1000) + '}'.repeat(1000))",
      "nested static blocks": "return eval('class A{static{'.repeat(400) + '}}'.repeat(400))",
      "nested functions in a Function": "return new Function('return ' + 'a=>'.repeat(5000) + '1')",
      "nested regular expression": "return new RegExp('(?:'.repeat(200000) + 'a' + ')'.repeat(200000)).test('a')",
      "recursion in an async function": "async function f() { return (await f()) + 1 } return f()",
    },
    scripts: {
      "nested functions at load": `const f = ${"a=>".repeat(1000)}1; registerTool({ name: 't', handler: f })`,
    },
  },
  {
    why: "the engine refuses with an error of its own",
    expected: { code: "tool_error" },
    handlers: {
      "too many captures": "return new RegExp('('.repeat(50000) + 'a' + ')'.repeat(50000)).test('a')",
      "too many arguments": "return Reflect.apply(Math.max, null, { length: 1e9 })",
      "too many spread arguments": "return Math.max(...new Array(1e6).fill(1))",
      "a BigInt too large to parse": "return BigInt('9'.repeat(1000000)) > 0n",
      "a BigInt too large to shift": "return (1n << 1000000000n) > 0n",
      "Atomics.wait": "return Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 100)",
      "shared memory": "return new SharedArrayBuffer(8).byteLength",
      "import of a module": "return import('os').then((m) => Object.keys(m))",
      "over 50 fetches": "let n = 0; for (let i = 0; i < 10000; i++) n += host.fetchOrigin('/x').status; return n",
      "memorySearch without the capability": "return host.memorySearch('x')",
      URLSearchParams: "return new URLSearchParams('a=1').get('a')",
      "registerTool during a call": "registerTool({ name: 'u', handler() {} }); return 1",
      "assignment to host": "'use strict'; host.fetchOrigin = () => ({ status: 1 }); return 1",
      "replacement of host": "'use strict'; globalThis.host = {}; return 1",
    },
  },
  {
    why: "whatever is thrown becomes a message, under the same budgets",
    expected: { code: "tool_error" },
    handlers: {
      "throw undefined": "throw undefined",
      "throw null": "throw null",
      "throw a symbol": "throw Symbol('x')",
      "throw a proxy": "throw new Proxy({}, { get() { throw 1 } })",
      "throw an object whose message throws": "throw { get message() { throw { get message() { throw 1 } } } }",
      "Error.prepareStackTrace": "Error.prepareStackTrace = () => { for (;;); }; null.x",
      "a message getter on the prototype":
        "Object.defineProperty(Error.prototype, 'message', { get() { for (;;); } }); throw new Error('a')",
      "a rejected promise": "return Promise.reject(new Error('no'))",
      "a thenable that throws": "return { then() { throw new Error('no') } }",
      "a then getter that throws": "return { get then() { throw new Error('no') } }",
    },
  },
  {
    why: "formatting an error is guest code, too",
    expected: { code: "gas_exhausted" },
    handlers: {
      "endless message getter":
        "throw { toString() { for (;;); }, get message() { for (;;); }, toJSON() { for (;;); } }",
      "endless proxy as the error": "throw new Proxy({}, { get() { for (;;); } })",
      "endless toJSON of the error": "throw { toJSON() { for (;;); } }",
    },
  },
  {
    why: "serialising a result is guest code, too",
    expected: { code: "gas_exhausted" },
    handlers: {
      "endless ownKeys": "return new Proxy({}, { ownKeys() { for (;;); } })",
      "endless getter": "return { get a() { for (;;); } }",
      "endless toJSON": "return { toJSON() { for (;;); } }",
      "endless then getter": "return { get then() { for (;;); } }",
    },
  },
  {
    why: "a result must be JSON",
    expected: { code: "bad_result" },
    handlers: {
      "a getter that throws": "return { get a() { throw { toString() { for (;;); } } } }",
      "a cycle": "const a = {}; a.a = a; return a",
      "a BigInt": "return 10n",
      "a symbol": "return Symbol('x')",
      "a function": "return () => 1",
      "a toJSON that gives nothing": "return { toJSON() {} }",
    },
  },
  {
    why: "the result is capped before it leaves the guest",
    expected: { code: "result_too_large" },
    handlers: {
      "a result of 2 MB": "return 'x'.repeat(2e6)",
      "a result of many small parts": "return Array.from({ length: 20000 }, () => 'x'.repeat(60))",
    },
  },
  {
    why: "with no job left a pending promise can never settle",
    expected: { code: "did_not_settle" },
    handlers: {
      "a promise that never settles": "return new Promise(() => {})",
      "a thenable that never settles": "return { then() {} }",
      "an await that never ends": "return (async () => { await new Promise(() => {}) })()",
    },
  },
  {
    why: "a tool may spoil its own call, but never the host, and its outcome comes by the same way",
    expected: { anyValue: true },
    handlers: {
      "Object.prototype.then": "Object.prototype.then = function (r) { r('own') }; return { a: 1 }",
      "Object.prototype.toJSON": "Object.prototype.toJSON = () => 'own'; return { a: 1 }",
      "Array.prototype.toJSON": "Array.prototype.toJSON = () => 'own'; return host.fetchOrigin('/x').status",
      "Promise.prototype.then": "Promise.prototype.then = function () { return 1 }; return (async () => 1)()",
      "Promise.prototype.constructor":
        "Object.defineProperty(Promise.prototype, 'constructor', { get() { return function () {} } }); return (async () => 1)().catch(() => 2)",
      "Promise species":
        "Object.defineProperty(Promise, Symbol.species, { get() { return class {} } }); return (async () => 1)()",
      "JSON replaced":
        "JSON.stringify = () => 'own'; JSON.parse = () => 'own'; globalThis.JSON = null; return { a: 1 }",
      "Reflect and String replaced":
        "Reflect.apply = () => 1; String.prototype.slice = () => 'v1'; Object.getPrototypeOf = () => null; return host.fetchOrigin('/x').status",
      "iteration replaced":
        "Array.prototype[Symbol.iterator] = function* () { yield 'own' }; return host.fetchOrigin('/x').status",
      "setters on Object.prototype":
        "for (const k of ['ok', 'code', 'value', 'get', 'set', '0', '1']) Object.defineProperty(Object.prototype, k, { __proto__: null, get() { return 1 }, set() {} }); return { a: 1 }",
      "Error replaced": "globalThis.Error = null; try { host.fetchOrigin(Symbol()) } catch {} return 1",
      "caller and callee": "return [typeof (function () { return this })(), arguments.length]",
      "jobs left behind": "(function f() { Promise.resolve().then(f) })(); return 1",
      "a fetch left behind": "Promise.resolve().then(() => host.fetchOrigin('/left')); return 1",
      "a deep concatenation":
        "let s = 'abcdefghijklmnopqrstuvwxyz'.repeat(400); for (let i = 0; i < 3000; i++) s = 'b' + s + 'c'; return s.length",
      "many registered finalizers":
        "const r = new FinalizationRegistry(() => { for (;;); }); for (let i = 0; i < 10000; i++) r.register({}, i); return 1",
      "a function of many parameters":
        "return eval('(function(' + Array.from({ length: 60000 }, (_, i) => 'a' + i).join() + '){})').length",
      "a date of many digits": "return new Date('9'.repeat(1e6)).getTime()",
    },
  },
  {
    why: "a comparator that throws or changes its array does no harm",
    expected: { value: 1 },
    handlers: {
      "sort that throws":
        "const a = Array.from({ length: 1e5 }, (_, i) => i); try { a.sort(() => { throw 1 }) } catch {} return 1",
      "sort that empties its array":
        "const a = Array.from({ length: 1000 }, (_, i) => i); a.sort((x, y) => { a.length = 0; a.push(1); return x - y }); return a.length",
    },
  },
  {
    why: "values that JSON has no word for become null",
    expected: { value: { a: null, b: null, c: 0 } },
    handlers: { "NaN, Infinity, -0 and undefined": "return { a: NaN, b: Infinity, c: -0, d: undefined }" },
  },
  {
    why: "host functions may be called wherever guest code runs",
    expected: { value: 200 },
    handlers: {
      "fetch deep in a recursion":
        "function f(n) { return n ? f(n - 1) : host.fetchOrigin('/x').status } return f(100)",
      "fetch in a comparator":
        "let s = 0; [3, 2, 1].sort((x, y) => { s = host.fetchOrigin('/s').status; return x - y }); return s",
      "fetch in a getter of the result": "return { toJSON() { return host.fetchOrigin('/g').status } }",
      "fetch in replace": "return Number('X'.replace(/X/, () => host.fetchOrigin('/r').status))",
      "fetch in a proxy": "return new Proxy({}, { get() { return host.fetchOrigin('/p').status } }).z",
      "fetch in a reviver": "return JSON.parse('[1]', (k, v) => (k === '' ? v[0] : host.fetchOrigin('/j').status))",
      "fetch in an async handler": "return (async () => { await 1; return host.fetchOrigin('/a').status })()",
      "fetch with concat replaced":
        "String.prototype.concat = () => ({}); return host.fetchOrigin({ toString: () => '/c' }).status",
      "fetch with odd arguments": "host.fetchOrigin(); return host.fetchOrigin(null, () => 1).status",
      "fetch in a thenable": "return { then(resolve) { resolve(host.fetchOrigin('/t').status) } }",
      "fetch in a generator": "function* g() { yield host.fetchOrigin('/y').status } return [...g()][0]",
    },
  },
  {
    why: "a script must register exactly one tool, under the skill's name",
    expected: { code: "no_registration" },
    scripts: { "no registration": "1 + 1", "an empty script": "" },
  },
  {
    why: "a script must register exactly one tool",
    expected: { code: "several_registrations" },
    scripts: {
      "two registrations": "registerTool({ name: 't', handler() {} }); registerTool({ name: 'u', handler() {} })",
      "registration of something else, caught":
        "try { registerTool(null) } catch {} registerTool({ name: 't', handler() {} })",
    },
  },
  {
    why: "a tool cannot take another skill's name",
    expected: { code: "name_mismatch" },
    scripts: {
      "[10.1-I] another name": "registerTool({ name: 'good', handler() {} })",
      "[10.1-I] a name that changes":
        "let n = 0; registerTool({ get name() { return n++ ? 't' : 'good' }, handler() {} })",
      "an empty name": "registerTool({ name: '', handler() {} })",
      __proto__: "registerTool({ name: '__proto__', handler() {} })",
    },
  },
  {
    why: "a definition must have the documented shape",
    expected: { code: "bad_definition" },
    scripts: {
      "no object": "registerTool('t')",
      "a name that is no string": "registerTool({ name: 1, handler() {} })",
      "no handler": "registerTool({ name: 't' })",
      "a handler that is no function": "registerTool({ name: 't', handler: {} })",
      "a title that is no string": "registerTool({ name: 't', title: 1, handler() {} })",
      "an array as the schema": "registerTool({ name: 't', inputSchema: [], handler() {} })",
      "null as the schema": "registerTool({ name: 't', inputSchema: null, handler() {} })",
      "a schema that turns into a string":
        "registerTool({ name: 't', inputSchema: { toJSON: () => 'x' }, handler() {} })",
      "a cyclic schema": "const s = {}; s.s = s; registerTool({ name: 't', inputSchema: s, handler() {} })",
      "a getter that throws": "registerTool({ name: 't', get description() { throw new Error('no') }, handler() {} })",
      "a definition of 300 KB": "registerTool({ name: 't', description: 'x'.repeat(300000), handler() {} })",
      "registration inside a getter":
        "registerTool({ name: 't', get title() { registerTool({ name: 'u', handler() {} }); return 'x' }, handler() {} })",
    },
  },
  {
    why: "loading fails like a call does",
    expected: { code: "tool_error" },
    scripts: {
      "a syntax error": "registerTool({",
      "a module": "import x from 'y'; registerTool({ name: 't', handler() {} })",
      "an error at load": "throw new Error('no')",
      "a fetch at load": "host.fetchOrigin('/x'); registerTool({ name: 't', handler() {} })",
      "a search at load": "host.memorySearch('x'); registerTool({ name: 't', handler() {} })",
      "registerTool replaced": "'use strict'; registerTool = () => {}; registerTool({ name: 't', handler() {} })",
    },
  },
  {
    why: "the image of a loaded script is limited",
    expected: { code: "image_too_large" },
    scripts: { "3 MB kept": "globalThis.kept = 'x'.repeat(3e6); registerTool({ name: 't', handler() {} })" },
  },
];

export const HOSTILE_CASES: readonly HostileCase[] = GROUPS.flatMap(({ expected, handlers = {}, scripts = {} }) => [
  ...Object.entries(handlers).map(([name, body]) => ({
    name,
    source: `registerTool({ name: "t", handler(args) { ${body} } })`,
    atLoad: false,
    expected,
  })),
  ...Object.entries(scripts).map(([name, source]) => ({ name, source, atLoad: true, expected })),
]);
