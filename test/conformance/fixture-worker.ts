import { handleMcp } from "../../src/core/mcp/http.ts";
import { FIXTURE } from "./fixture-provider.ts";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The gateway's MCP core over a provider with everything the conformance suite asks for and no `tool.js` can produce. */
export default {
  async fetch(request): Promise<Response> {
    if (!isLoopback(request)) return Response.json({ error: "browser_origin" }, { status: 403 });
    if (request.method !== "POST") {
      return Response.json({ error: "method_not_allowed" }, { status: 405, headers: { allow: "POST" } });
    }
    const { headers, signal } = request;
    return handleMcp({ headers, body: await request.text(), provider: FIXTURE, signal });
  },
} satisfies ExportedHandler;

/** A page of another site must not reach a server on this machine, whatever name it resolves to the loopback address. */
function isLoopback(request: Request): boolean {
  const origin = request.headers.get("origin");
  if (!LOOPBACK.has(new URL(request.url).hostname)) return false;
  return origin === null || (URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname));
}
