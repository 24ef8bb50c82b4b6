import type { Context, Handler } from "hono";
import { addHeadersTo } from "./answer-headers.ts";
import type { TimedStep } from "./log.ts";
import {
  answerError,
  asksForTiming,
  beginRequest,
  endRequest,
  type GatewayContext,
  tellTiming,
} from "./request-context.ts";

const MCP_ROUTE = "/mcp";

/**
 * One step of an MCP request: it leaves what it found in the context, answers, or throws the refusal. A step that has all it needs in
 * memory is done at once, without a promise.
 */
export type Step = (c: Context<GatewayContext>) => Response | undefined | Promise<Response | undefined>;

interface NamedStep {
  /** Under which the log notes its duration; `null`: it is not worth noting. */
  readonly name: TimedStep | null;
  readonly run: Step;
}

/** A step whose duration is noted in the log, also when it throws. */
export function timed(name: TimedStep, run: Step): NamedStep {
  return { name, run };
}

/**
 * Answers requests by running steps one after the other until one answers. Unlike middleware a step has nothing to do after the others, and
 * this one handler stands alone on its path: a chain of middleware costs a tenth of a request.
 */
export function inOrder(...parts: readonly (Step | NamedStep)[]): Handler<GatewayContext> {
  const steps = parts.map((part) => (typeof part === "function" ? { name: null, run: part } : part));
  return async (c) => {
    beginRequest(c);
    c.get("log").route = c.req.path === MCP_ROUTE ? MCP_ROUTE : `${MCP_ROUTE}/*`;
    let answer: Response;
    try {
      answer = await firstAnswer(c, steps);
    } catch (error) {
      answer = answerError(error as Error, c);
    }
    if (!c.get("isComplete")) addHeadersTo(answer, c);
    if (asksForTiming(c)) await tellTiming(c, answer);
    endRequest(c, answer);
    return answer;
  };
}

async function firstAnswer(c: Context<GatewayContext>, steps: readonly NamedStep[]): Promise<Response> {
  const log = c.get("log");
  for (const { name, run } of steps) {
    const startedAt = Date.now();
    try {
      const result = run(c);
      const answer = result instanceof Promise ? await result : result;
      if (answer !== undefined) return answer;
    } finally {
      if (name !== null) log.took(name, Date.now() - startedAt);
    }
  }
  throw new Error("No step answered.");
}
