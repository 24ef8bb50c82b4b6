import type { Context, Handler } from "hono";
import type { GatewayContext } from "./request-context.ts";

/**
 * One step of an MCP request: it leaves what it found in the context, answers, or throws the refusal. A step that has all it needs in
 * memory is done at once, without a promise.
 */
export type Step = (c: Context<GatewayContext>) => Response | undefined | Promise<Response | undefined>;

/** Runs steps one after the other until one answers. Unlike middleware a step has nothing to do after the others. */
export function inOrder(...steps: readonly Step[]): Handler<GatewayContext> {
  return async (c) => {
    for (const step of steps) {
      const result = step(c);
      const answer = result instanceof Promise ? await result : result;
      if (answer !== undefined) return answer;
    }
    throw new Error("No step answered.");
  };
}
