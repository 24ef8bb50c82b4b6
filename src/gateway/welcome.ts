import type { Context } from "hono";
import type { GatewayContext } from "./request-context.ts";

const TEXT = `Skillgate

Turns static sites into MCP servers: discovers the skills a site publishes in its llms.txt, verifies every byte,
and runs them in a sandbox.

MCP (Streamable HTTP), with a bearer token:
  POST /mcp?origin=<url-encoded origin>
  POST /mcp/<host>[/<base>]

Health: GET /healthz, GET /readyz
Operators: /admin/api/v1/openapi.json
`;

/** `GET /`: what this is, for people. Says nothing about this deployment. */
export function welcome(c: Context<GatewayContext>): Response {
  return c.text(TEXT);
}
