import { fetchAnswer, handler, newSandbox, SUM, type Suite, script } from "./fixtures.ts";

/** Every call starts from the same state, and nothing of the host is inside. */
export function isolationSuite({ engines, it, expect }: Suite): void {
  for (const engine of engines) {
    const on = ` on ${engine.kind}`;

    it(`globals, prototypes and closures do not survive a call${on}`, async () => {
      const sandbox = newSandbox(engine);
      const counter = script(`
        let count = 0;
        const seen = [];
        registerTool({ name: "t", handler(args) {
          count++;
          seen.push(args.x);
          globalThis.leak = (globalThis.leak ?? 0) + 1;
          const before = typeof [].evil;
          Array.prototype.evil = 1;
          this.touched = (this.touched ?? 0) + 1;
          return { count, seen, leak: globalThis.leak, before, touched: this.touched };
        } })`);
      for (let x = 0; x < 20; x++) {
        expect(await sandbox.call(counter, { x }, {})).toMatchObject({
          ok: true,
          value: { count: 1, seen: [x], leak: 1, before: "undefined", touched: 1 },
        });
        expect(await sandbox.call(SUM, { a: x, b: 1 }, {})).toMatchObject({ value: x + 1 });
      }
    });

    it(`state made while loading is there in each call${on}`, async () => {
      const sandbox = newSandbox(engine);
      const tool = script(
        'const table = new Map([["a", 1]]); let late = 0; Promise.resolve().then(() => { late = 7 }); registerTool({ name: "t", handler() { return [table.get("a"), late] } })',
      );
      expect(await sandbox.call(tool, {}, {})).toMatchObject({ value: [1, 7] });
      expect(await sandbox.call(tool, {}, {})).toMatchObject({ value: [1, 7] });
    });

    it(`a call after a failed one starts from the image${on}`, async () => {
      const sandbox = newSandbox(engine);
      const tool = script(`let n = 0; registerTool({ name: "t", handler(args) {
        n++; globalThis.junk = []; for (let i = 0; i < 5000; i++) globalThis.junk.push("junk" + i);
        if (args.fail) throw new Error("n is " + n);
        return n;
      } })`);
      for (let round = 0; round < 5; round++) {
        expect(await sandbox.call(tool, { fail: true }, {})).toMatchObject({ ok: false, message: "n is 1" });
        expect(await sandbox.call(tool, {}, {})).toMatchObject({ ok: true, value: 1 });
      }
    });

    it(`Math.random differs between calls and between loads, and lies in [0, 1)${on}`, async () => {
      const sandbox = newSandbox(engine);
      const tool = handler("return [Math.random(), Math.random(), Math.random()]");
      const seen = new Set<unknown>();
      for (let i = 0; i < 50; i++) {
        const outcome = await sandbox.call(tool, {}, {});
        const values = outcome.ok ? (outcome.value as number[]) : [];
        for (const value of values) {
          expect(value >= 0 && value < 1).toEqual(true);
          seen.add(value);
        }
      }
      expect(seen.size).toEqual(150);
      const many = handler("let sum = 0; for (let i = 0; i < 10000; i++) sum += Math.random(); return sum / 10000");
      const mean = await sandbox.call(many, {}, {});
      expect(mean.ok && Math.abs((mean.value as number) - 0.5) < 0.03, "mean").toEqual(true);
    });

    it(`the host function may be called while a script loads and its definition is read${on}`, async () => {
      const sandbox = newSandbox(engine);
      const random = script(
        'const first = Math.random(); registerTool({ name: "t", get title() { return String(Math.random() < 1) }, handler() { return Math.random() !== first } })',
      );
      expect(await sandbox.load(random)).toMatchObject({ ok: true, definition: { name: "t", title: "true" } });
      expect(await sandbox.call(random, {}, {})).toMatchObject({ ok: true, value: true });
      const nothing = script('registerTool({ name: "t", get title() { throw null }, handler() {} })');
      expect(await sandbox.load(nothing)).toMatchObject({ ok: false, code: "bad_definition", message: "null" });
      expect(await sandbox.load(script("throw null"))).toMatchObject({
        ok: false,
        code: "tool_error",
        message: "null",
      });
      const job = script(
        'let n = 2; Promise.resolve().then(() => { n = Math.random() }); registerTool({ name: "t", handler() { return n < 1 } })',
      );
      expect(await sandbox.call(job, {}, {})).toMatchObject({ ok: true, value: true });
    });

    it(`Date shows the host's clock in each call, in UTC${on}`, async () => {
      let now = Date.UTC(2026, 0, 31, 12, 34, 56, 789);
      const { Sandbox } = await import("../sandbox.ts");
      const { DEFAULT_SANDBOX_LIMITS } = await import("../../limits.ts");
      const sandbox = new Sandbox({ engine, limits: DEFAULT_SANDBOX_LIMITS, now: () => now });
      const tool = script(
        'const loaded = Date.now(); registerTool({ name: "t", handler() { const d = new Date(); return [loaded, Date.now(), d.getTimezoneOffset(), d.getHours(), d.getDate(), d.getMonth(), d.getFullYear()] } })',
      );
      const start = now;
      expect(await sandbox.call(tool, {}, {})).toMatchObject({ value: [start, now, 0, 12, 31, 0, 2026] });
      now += 86_400_000;
      expect(await sandbox.call(tool, {}, {})).toMatchObject({ value: [start, now, 0, 12, 1, 1, 2026] });
    });

    it(`[10.2-dispatch] the globals are the language's own, registerTool and host, which cannot be changed${on}`, async () => {
      const sandbox = newSandbox(engine);
      const names = await sandbox.call(handler("return Object.getOwnPropertyNames(globalThis)"), {}, {});
      const list = names.ok ? (names.value as string[]) : [];
      const absent = ["SharedArrayBuffer", "Atomics", "WebAssembly", "process", "fetch", "console", "std", "os"];
      for (const name of [...absent, "setTimeout", "__dispatch", "__tools", "scriptArgs"]) {
        expect(list.includes(name), name).toEqual(false);
      }
      const expected = ["registerTool", "host", "JSON", "Promise", "globalThis"];
      for (const name of expected) expect(list.includes(name), name).toEqual(true);
      const own = list.filter((name) => /^[a-z_]/.test(name)).sort();
      expect(own).toEqual([
        "decodeURI",
        "decodeURIComponent",
        "encodeURI",
        "encodeURIComponent",
        "escape",
        "eval",
        "globalThis",
        "host",
        "isFinite",
        "isNaN",
        "parseFloat",
        "parseInt",
        "registerTool",
        "undefined",
        "unescape",
      ]);
      const frozen = await sandbox.call(
        handler(`const d = Object.getOwnPropertyDescriptor(globalThis, "host"), r = Object.getOwnPropertyDescriptor(globalThis, "registerTool");
          delete globalThis.host; globalThis.host = 1; host.fetchOrigin = 1;
          return [d.writable, d.configurable, r.writable, r.configurable, Object.isFrozen(host), typeof host.fetchOrigin]`),
        {},
        { fetchOrigin: async () => fetchAnswer("") },
      );
      expect(frozen).toMatchObject({ value: [false, false, false, false, true, "function"] });
    });

    it(`a handler cannot reach the dispatcher through the stack${on}`, async () => {
      const sandbox = newSandbox(engine);
      const tool = handler(`
        const found = [];
        const look = (f) => { try { const v = f(); if (typeof v === "function") found.push(String(v).slice(0, 40)) } catch {} };
        look(() => arguments.callee === undefined ? undefined : arguments.callee.caller);
        look(() => (function () { return arguments.callee.caller.caller })());
        let frames; Error.prepareStackTrace = (_, calls) => { frames = calls; return "" };
        try { null.x } catch (e) { e.stack }
        if (Array.isArray(frames)) for (const c of frames) look(() => c.getFunction());
        return found.filter((text) => text.includes("dispatch") || text.includes("ask"))`);
      expect(await sandbox.call(tool, {}, {})).toMatchObject({ ok: true, value: [] });
    });

    it(`the handler gets its arguments and the definition as this${on}`, async () => {
      const sandbox = newSandbox(engine);
      const tool = script(
        'registerTool({ name: "t", extra: 5, handler(...parameters) { return [parameters, this.extra, this.name] } })',
      );
      expect(await sandbox.call(tool, { a: ["ü", 1, null, { "": "\u2028" }] }, {})).toMatchObject({
        value: [[{ a: ["ü", 1, null, { "": "\u2028" }] }], 5, "t"],
      });
    });

    it(`texts of every kind come through unchanged${on}`, async () => {
      const sandbox = newSandbox(engine);
      const echo = handler("return args.text");
      for (const text of [
        "",
        "a\u0000b",
        "ü€😀",
        "\u2028\u2029",
        "\\\"'`$",
        "x".repeat(100_000),
        "😀".repeat(10_000),
      ]) {
        expect(await sandbox.call(echo, { text }, {})).toMatchObject({ ok: true, value: text });
      }
      // A lone surrogate has no UTF-8; in JSON it travels escaped.
      expect(await sandbox.call(echo, { text: "a\ud800b" }, {})).toMatchObject({ ok: true, value: "a\ud800b" });
      const thrown = handler("throw new Error(args.text)");
      expect(await sandbox.call(thrown, { text: "a\u0000ü😀" }, {})).toMatchObject({ message: "a\u0000ü😀" });
    });

    it(`two sandboxes with the same scripts use the same gas${on}`, async () => {
      const used = async () => {
        const sandbox = newSandbox(engine);
        await sandbox.call(SUM, { a: 100, b: 200 }, {});
        return (await sandbox.call(handler("return args.list.sort().join()"), { list: [3, 1, 2] }, {})).gasUsed;
      };
      expect(await used()).toEqual(await used());
    });

    it(`the caller's messages follow the thrown value${on}`, async () => {
      const sandbox = newSandbox(engine);
      const messages: Record<string, string> = {
        "throw new Error('m')": "m",
        "throw 'text'": "text",
        "throw { code: 5 }": '{"code":5}',
        "throw null": "null",
        "throw undefined": "undefined",
        "throw 7": "7",
        "throw new TypeError('')": "TypeError",
        "throw { message: 'own' }": "own",
        "throw { message: { a: 1 }, name: '' }": '{"message":{"a":1},"name":""}',
        "return Promise.reject('late')": "late",
        "null.x": "cannot read property 'x' of null",
      };
      for (const [body, message] of Object.entries(messages)) {
        expect(await sandbox.call(handler(body), {}, {}), body).toMatchObject({
          ok: false,
          code: "tool_error",
          message,
        });
      }
    });

    it(`values become JSON as JSON.stringify does, thenables awaited${on}`, async () => {
      const sandbox = newSandbox(engine);
      const values: [string, unknown][] = [
        ["return", null],
        ["return undefined", null],
        ["return null", null],
        ["return NaN", null],
        ["return new Date(0)", "1970-01-01T00:00:00.000Z"],
        ["return new Map([[1, 2]])", {}],
        ["return { toJSON: () => 5 }", 5],
        ["return [undefined, () => 1]", [null, null]],
        ["return Promise.resolve(Promise.resolve(3))", 3],
        ["return { then(r) { r({ then(q) { q(4) } }) } }", 4],
        ["return '__proto__'", "__proto__"],
        ["return true", true],
      ];
      for (const [body, value] of values) {
        expect(await sandbox.call(handler(body), {}, {}), body).toMatchObject({ ok: true, value });
      }
    });
  }
}
