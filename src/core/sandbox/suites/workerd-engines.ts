import type { Engine } from "../engine.ts";
import asyncify from "../generated/quickjs-asyncify.wasm";
import jspi from "../generated/quickjs-jspi.wasm";

export const WORKERD_ENGINES: readonly Engine[] = [
  { kind: "jspi", module: jspi },
  { kind: "asyncify", module: asyncify },
];
