import type { SandboxLimits } from "../limits.ts";
import { ASK, CAPABILITY, DISPATCH, VALUE } from "./protocol.ts";

/** Characters of a guest's error message that are kept; the host cuts it to `MESSAGE_BYTES` again. */
const MESSAGE_CHARACTERS = 2048;

/** Characters of the JSON of `fetchOrigin`'s or `memorySearch`'s arguments: a full request body, escaped, fits. */
const ARGUMENT_CHARACTERS = 256 * 1024;

/**
 * JavaScript of the guest's side: an expression of a function that takes the host function and returns `dispatch`.
 *
 * It runs before any foreign code and keeps what it needs of the built-ins in closures. Afterwards it touches no
 * property that guest code could have replaced: no method calls, no spread, no destructuring, no iteration, no templates
 * with values (QuickJS calls `concat` for them); `await` and `Reflect.apply` on array literals are safe. A tool can only ever spoil its own call. Neither `dispatch` nor the host
 * function is reachable from the globals.
 *
 * @param actions names of the embedder's actions, which are identifiers.
 */
export function preludeSource(limits: SandboxLimits, actions: readonly string[]): string {
  return `(function (ask) {
"use strict";
const stringify = JSON.stringify, parse = JSON.parse, isArray = Array.isArray;
const apply = Reflect.apply, prototypeOf = Object.getPrototypeOf, define = Object.defineProperty;
const slice = String.prototype.slice, toInteger = parseInt, toText = String;
const Failure = Error, Internal = InternalError, internalPrototype = InternalError.prototype;
const syntaxPrototype = SyntaxError.prototype;

let loading = true, registrations = 0, tool, handler, capabilities = 0, seeded = false;

function cut(text, from, to) { return apply(slice, text, [from, to]); }

// ---- failures ----
function failure(letter, message) { return letter + stringify(message); }

function isPrimitive(type) {
  return type === "undefined" || type === "boolean" || type === "number" || type === "bigint";
}

function describe(error, letter) {
  let message;
  try {
    if (error === null && ask(${ASK.memoryTight}, "") === "1") return failure("m", "out of memory");
    if (typeof error === "string") message = error;
    else if (error !== null && (typeof error === "object" || typeof error === "function")) {
      message = error.message;
      const prototype = prototypeOf(error);
      if (prototype === internalPrototype && message === "out of memory") return failure("m", message);
      if ((prototype === internalPrototype || prototype === syntaxPrototype) && message === "stack overflow") {
        return failure("s", "Maximum call stack size exceeded");
      }
      if (typeof message !== "string" || message === "") {
        const name = error.name;
        message = typeof name === "string" && name !== "" ? name : stringify(error);
      }
    } else if (typeof error === "symbol") message = "a symbol was thrown";
    else if (error === null || isPrimitive(typeof error)) message = toText(error);
    // The engine failed without an error to throw, which it does where there was no memory for one.
    else return failure("m", "out of memory");
    if (typeof message !== "string") message = "the thrown value has no message";
  } catch {
    message = "the thrown value could not be described";
  }
  if (message.length > ${MESSAGE_CHARACTERS}) message = cut(message, 0, ${MESSAGE_CHARACTERS}) + "…";
  return failure(letter, message);
}

function serialise(value) {
  if (value === undefined) return "${VALUE}null";
  let text;
  try { text = stringify(value); } catch (error) { return describe(error, "b"); }
  if (text === undefined) return failure("b", "a result must be JSON, not a " + typeof value);
  if (text.length > ${limits.resultBytes}) return failure("l", "result too large: over ${limits.resultBytes} bytes");
  return "${VALUE}" + text;
}

// ---- what guest code sees ----
function answer(text) {
  if (typeof text !== "string") throw new Internal("out of memory");
  const content = parse(cut(text, 1));
  if (text[0] === "${VALUE}") return content;
  throw new Failure(content);
}

function available(capability, name) {
  if (loading) throw new Failure("host." + name + " is not available while the script loads");
  if ((capabilities & capability) === 0) throw new Failure("host." + name + " is not available to this tool");
}

function bounded(text, name) {
  if (text.length > ${ARGUMENT_CHARACTERS}) {
    throw new Failure("the arguments of host." + name + " exceed ${ARGUMENT_CHARACTERS} characters");
  }
  return text;
}

const { fetchOrigin, memorySearch, registerTool, actions } = {
  fetchOrigin(path, options) {
    available(${CAPABILITY.fetchOrigin}, "fetchOrigin");
    if (typeof path === "symbol") throw new Failure("host.fetchOrigin: the path must be a string");
    const target = bounded(toText(path), "fetchOrigin");
    const more = typeof options === "object" && options !== null ? stringify(options) : undefined;
    const text = more === undefined ? "[" + stringify(target) + "]" : "[" + stringify(target) + "," + more + "]";
    return answer(ask(${ASK.fetchOrigin}, bounded(text, "fetchOrigin")));
  },
  memorySearch(...parameters) {
    available(${CAPABILITY.memorySearch}, "memorySearch");
    return answer(ask(${ASK.memorySearch}, bounded("" + stringify(parameters), "memorySearch")));
  },
  registerTool(definition) {
    if (!loading) throw new Failure("registerTool may only be called while the script loads");
    if (registrations++ === 0) tool = definition;
  },
  actions: {
${actions.map(actionSource).join("")}  },
};

define(globalThis, "registerTool", { value: registerTool });
define(globalThis, "host", {
  value: Object.freeze({
    get fetchOrigin() { return loading || (capabilities & ${CAPABILITY.fetchOrigin}) !== 0 ? fetchOrigin : undefined; },
${actions.includes("memorySearch") ? "" : MEMORY_SEARCH}${actions.map(actionMember).join("")}  }),
});
delete globalThis.SharedArrayBuffer;
delete globalThis.Atomics;

// Restoring an image would repeat the engine's own generator, so it is replaced: sfc32 (Doty-Humphrey), seeded on first use.
let a = 0, b = 0, c = 0, d = 0;
function next() {
  const sum = (((a + b) | 0) + d) | 0;
  d = (d + 1) | 0;
  a = b ^ (b >>> 9);
  b = (c + (c << 3)) | 0;
  c = (((c << 21) | (c >>> 11)) + sum) | 0;
  return sum >>> 0;
}
define(Math, "random", {
  writable: true,
  configurable: true,
  value: {
    random() {
      if (!seeded) {
        const seed = ask(${ASK.seed}, "");
        a = toInteger(cut(seed, 0, 8), 16) | 0;
        b = toInteger(cut(seed, 8, 16), 16) | 0;
        c = toInteger(cut(seed, 16, 24), 16) | 0;
        d = toInteger(cut(seed, 24, 32), 16) | 0;
        for (let i = 0; i < 8; i++) next();
        seeded = true;
      }
      return ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
    },
  }.random,
});

// ---- the definition ----
let problem = "";

function textField(key) {
  const value = tool[key];
  if (value === undefined) return "";
  if (typeof value !== "string") problem = key + " must be a string";
  return ',"' + key + '":' + stringify(value);
}

function objectField(key, absent) {
  const value = tool[key];
  if (value === undefined) return absent;
  const text = typeof value === "object" && value !== null && !isArray(value) ? stringify(value) : undefined;
  if (typeof text !== "string" || text[0] !== "{") problem = key + " must be an object";
  return ',"' + key + '":' + text;
}

function readDefinition(nameJson) {
  const expected = parse(nameJson);
  loading = false;
  seeded = false;
  if (registrations === 0) return failure("z", "the script did not call registerTool");
  if (registrations > 1) return failure("r", "the script called registerTool " + registrations + " times; once is allowed");
  try {
    if (tool === null || (typeof tool !== "object" && typeof tool !== "function")) {
      return failure("d", "registerTool must be given an object");
    }
    const name = tool.name;
    if (typeof name !== "string") return failure("d", "name must be a string");
    if (expected !== null && name !== expected) {
      return failure("n", 'the script registers "' + cut(name, 0, 100) + '", but the skill is named "' + expected + '"');
    }
    handler = tool.handler;
    if (typeof handler !== "function") return failure("d", "handler must be a function");
    const text =
      '{"name":' + stringify(name) + textField("title") + textField("description") +
      objectField("inputSchema", ',"inputSchema":{"type":"object"}') +
      objectField("outputSchema", "") + objectField("annotations", "") + "}";
    if (problem !== "") return failure("d", problem);
    if (text.length > ${limits.definitionBytes}) return failure("d", "the definition exceeds ${limits.definitionBytes} bytes");
    seeded = false;
    return "${VALUE}" + text;
  } catch (error) {
    return describe(error, "d");
  }
}

// ---- calls ----
async function settle(value) {
  let text;
  try {
    text = serialise(await value);
  } catch (error) {
    try { text = describe(error, "t"); } catch { text = 'm"out of memory"'; }
  }
  ask(${ASK.settle}, text);
}

function call(argument) {
  try {
    const value = apply(handler, tool, [parse(argument)]);
    const thenable =
      value !== null && (typeof value === "object" || typeof value === "function") && typeof value.then === "function";
    // Work that the handler left in the queue runs before its result is taken, as it would after an await.
    if (!thenable && ask(${ASK.jobsPending}, "") === "0") return serialise(value);
    settle(value);
    return "";
  } catch (error) {
    return describe(error, "t");
  }
}

return function dispatch(operation, payload) {
  if (operation >= ${DISPATCH.call}) {
    capabilities = operation - ${DISPATCH.call};
    return call(payload);
  }
  if (operation === ${DISPATCH.define}) return readDefinition(payload);
  if (operation === ${DISPATCH.explain}) return describe(payload, "t");
  loading = false;
  seeded = false;
  handler = payload;
  return "${VALUE}null";
};
})`;
}

const MEMORY_SEARCH = member("memorySearch", CAPABILITY.memorySearch, "memorySearch");

function actionMember(name: string): string {
  return member(name, CAPABILITY.actions, `actions.${name}`);
}

function member(name: string, capability: number, callee: string): string {
  return `    get ${name}() { return loading || (capabilities & ${capability}) !== 0 ? ${callee} : undefined; },\n`;
}

function actionSource(name: string): string {
  return `    ${name}(...parameters) {
      available(${CAPABILITY.actions}, "${name}");
      return answer(ask(${ASK.action}, bounded('["${name}",' + stringify(parameters) + "]", "${name}")));
    },
`;
}
