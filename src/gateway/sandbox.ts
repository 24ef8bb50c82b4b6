import { selectEngineKind } from "../core/sandbox/engine.ts";
import asyncify from "../core/sandbox/generated/quickjs-asyncify.wasm";
import jspi from "../core/sandbox/generated/quickjs-jspi.wasm";
import { Sandbox } from "../core/sandbox/sandbox.ts";
import type { Settings } from "./env.ts";

/** What settings say of the sandbox; the same settings are looked at again and again. */
const keys = new WeakMap<Settings, string>();
let current: { readonly key: string; readonly sandbox: Sandbox } | null = null;

/**
 * The sandbox of this isolate: one pool for requests and for the hubs that happen to live here, since they share the isolate's memory.
 * Made anew only where the settings differ, which in production they never do.
 */
export function sandboxFor(settings: Settings): Sandbox {
  const key = keys.get(settings) ?? JSON.stringify([settings.sandboxEngine, settings.sandbox]);
  keys.set(settings, key);
  if (current?.key !== key) {
    const kind = selectEngineKind(settings.sandboxEngine);
    const engine = { kind, module: kind === "jspi" ? jspi : asyncify };
    current = { key, sandbox: new Sandbox({ engine, limits: settings.sandbox }) };
  }
  return current.sandbox;
}
