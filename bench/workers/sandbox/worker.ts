import type { Sha256Hex } from "../../../src/core/integrity.ts";
import { DEFAULT_SANDBOX_LIMITS } from "../../../src/core/limits.ts";
import { selectEngineKind } from "../../../src/core/sandbox/engine.ts";
import asyncify from "../../../src/core/sandbox/generated/quickjs-asyncify.wasm";
import jspi from "../../../src/core/sandbox/generated/quickjs-jspi.wasm";
import { Sandbox, type Tool } from "../../../src/core/sandbox/sandbox.ts";

const kind = selectEngineKind("auto");
const sandbox = new Sandbox({
  engine: { kind, module: kind === "jspi" ? jspi : asyncify },
  limits: DEFAULT_SANDBOX_LIMITS,
});

/**
 * Runs one tool again and again from its warm image, with nothing of the gateway around it.
 * `POST /?calls=2000&concurrency=8` with the tool's script as the body; answers how many of the sums were right.
 */
export default {
  async fetch(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const calls = Number(query.get("calls"));
    const tool: Tool = { sha256: "sum_numbers" as Sha256Hex, source: await request.text(), name: "sum_numbers" };
    let next = 0;
    let right = 0;
    const caller = async () => {
      while (next < calls) {
        const a = next++;
        const outcome = await sandbox.call(tool, { a, b: 1 }, {});
        if (outcome.ok && outcome.value === a + 1) right++;
      }
    };
    await Promise.all(Array.from({ length: Number(query.get("concurrency")) }, caller));
    return Response.json({ right, engine: kind });
  },
};
