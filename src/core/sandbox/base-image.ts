import type { SandboxLimits } from "../limits.ts";
import type { Engine } from "./engine.ts";
import { type Image, takeImage } from "./image.ts";
import { Instance } from "./instance.ts";
import { preludeSource } from "./prelude.ts";

/** Reference number of the one host function; the driver does not look at it. */
const HOST_FUNCTION = 1;

/** The image that every script is loaded into: runtime, context, limits and prelude, no foreign code yet. */
export function makeBaseImage(
  engine: Engine,
  limits: SandboxLimits,
  now: () => number,
  actions: readonly string[],
): Image {
  const instance = new Instance({ engine, now, memoryBytes: limits.linearMemoryBytes, mayGrow: () => true });
  const { exports } = instance;
  instance.runtime = exports.QTS_NewRuntime();
  exports.QTS_RuntimeSetMemoryLimit(instance.runtime, limits.guestMemoryBytes);
  exports.QTS_RuntimeSetMaxStackSize(instance.runtime, limits.guestStackBytes);
  exports.QTS_RuntimeEnableInterruptHandler(instance.runtime);
  const context = exports.QTS_NewContext(instance.runtime, 0);
  instance.context = context;

  const code = instance.newCString(preludeSource(limits, actions));
  const fileName = instance.newCString("prelude.js");
  const makeDispatch = exports.QTS_Eval(context, code.pointer, code.length, fileName.pointer, 0, 0);
  expectValue(instance, makeDispatch);
  const name = instance.newCString("ask");
  const ask = exports.QTS_NewFunction(context, name.pointer, 2, 0, HOST_FUNCTION);
  instance.dispatch = exports.QTS_Call(
    context,
    makeDispatch,
    exports.QTS_GetUndefined(),
    1,
    instance.newArguments(ask),
  );
  expectValue(instance, instance.dispatch);
  for (const { pointer } of [code, fileName, name]) exports.free(pointer);
  return takeImage(instance);
}

function expectValue(instance: Instance, value: number): void {
  const exception = instance.exports.QTS_ResolveException(instance.context, value);
  if (exception !== 0) throw new Error(`the prelude failed: ${instance.readString(exception)}`);
}
