import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { addClient, mcp, migrate, rpc } from "./gateway-fixture.ts";
import { hashText, startPublisher } from "./trust-fixture.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

describe("a caller's traceparent", () => {
  it("reaches the publishers that the operator chose, and no other", async () => {
    const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const { token } = await addClient();
    for (const forwardTrace of [true, false]) {
      const { host, origin } = await startPublisher({ pin: "off", forwardTrace });
      const source = `registerTool({ name: "t", handler: () => host.fetchOrigin("/api/trace").body });`;
      const sha256 = await hashText(source);
      const line = `- [t](): T <!-- skill: ${JSON.stringify({ tool: "/t.js", tool_sha256: sha256 })} -->`;
      const files = { "/llms.txt": `# T\n\n## Skills\n\n${line}\n`, "/t.js": source };
      await fetch(`https://${host}/__files`, { method: "PUT", body: JSON.stringify(files) });
      const params = { name: "t", arguments: {}, _meta: { traceparent: TRACE } };
      const answer = await rpc(mcp(origin), "tools/call", { token, params });
      expect(await answer.json()).toMatchObject({
        result: { structuredContent: { result: forwardTrace ? TRACE : "none" } },
      });
    }
  });
});
