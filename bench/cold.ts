import { type BenchGateway, mcpRequest, sendOnce, toolCall } from "./gateway.ts";
import { LISTED_TOOLS } from "./publisher.ts";
import { median, round } from "./statistics.ts";
import type { Workerd } from "./workerd/process.ts";

/** Between two cold discoveries: a hub writes down what it found a little later than it answers. */
const PAUSE_MS = 250;

const FIRST_SUM = '"structuredContent":{"result":3}';

/**
 * Milliseconds of the first `tools/list` of an origin that no hub has discovered yet, in a process that is otherwise warm: llms.txt, index,
 * five recipes and five scripts fetched over loopback, hashed, and their definitions read.
 */
export async function measureColdDiscovery(gateway: BenchGateway, { port }: Workerd, origins: readonly string[]) {
  const samples: number[] = [];
  for (const origin of origins) {
    const message = { method: "tools/list" };
    const request = mcpRequest(gateway, { client: "unlimited", origin, message, expect: { kind: "any" } });
    const { status, headers, text, ms } = await sendOnce(port, request);
    const discovery = headers.get("X-Gw-Discovery");
    const tools = (text.match(/"inputSchema"/g) ?? []).length;
    if (status !== 200 || discovery !== "miss" || tools !== LISTED_TOOLS) {
      throw new Error(
        `Cold discovery: status ${status}, discovery ${discovery}, ${tools} tools: ${text.slice(0, 300)}`,
      );
    }
    samples.push(round(ms, 1));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return { median_ms: round(median(samples), 1), samples_ms: samples };
}

/**
 * Starts the gateway anew on the data it has, several times: milliseconds from the start of the process until it listens, and from then
 * until the first `tools/call` is answered. That one reads the policy from D1 and the release from its hub, compiles the sandbox and loads
 * the tool.
 */
export async function measureFirstRequest(gateway: BenchGateway, origin: string, times: number) {
  const [ready, first, discovery]: [number[], number[], string[]] = [[], [], []];
  const message = toolCall("sum_numbers", 1, 2);
  const request = mcpRequest(gateway, { client: "unlimited", origin, message, expect: { kind: "any" } });
  // Before the first one that counts the hub discovers its origin.
  for (let turn = -1; turn < times; turn++) {
    const workerd = await gateway.prepared.start();
    try {
      const { status, headers, text, ms } = await sendOnce(workerd.port, request);
      if (turn < 0) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        continue;
      }
      if (status !== 200 || !text.includes(FIRST_SUM)) {
        throw new Error(`First request of a fresh process: ${status} ${text.slice(0, 300)}`);
      }
      ready.push(workerd.readyMs);
      first.push(ms);
      discovery.push(headers.get("X-Gw-Discovery") ?? "");
    } finally {
      await workerd.stop();
    }
  }
  return {
    median_ms: round(median(first), 1),
    samples_ms: first.map((ms) => round(ms, 1)),
    process_ready_ms: round(median(ready), 1),
    discovery,
  };
}
