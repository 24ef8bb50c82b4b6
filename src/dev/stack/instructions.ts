import type { Stack } from "../stack.ts";
import { PUBLISHERS, type PublisherName } from "./publishers.ts";

/** The MCP endpoint of one publisher behind the gateway. */
export function mcpEndpoint(stack: Pick<Stack, "url" | "origins">, publisher: PublisherName): string {
  return `${stack.url}/mcp/${new URL(stack.origins[publisher]).host}`;
}

/** A command that calls `sum_numbers` through the gateway, ready to be pasted into a shell. */
export function curlCommand(stack: Pick<Stack, "url" | "origins" | "clientToken">): string {
  const call = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "sum_numbers", arguments: { a: 19.5, b: 22.5 } },
  };
  return [
    `curl -sS ${mcpEndpoint(stack, "demo")}`,
    `-H 'Authorization: Bearer ${stack.clientToken}'`,
    "-H 'Content-Type: application/json'",
    "-H 'Accept: application/json, text/event-stream'",
    `-d '${JSON.stringify(call)}'`,
  ].join(" \\\n    ");
}

function claudeCommand(stack: Pick<Stack, "url" | "origins" | "clientToken">, publisher: PublisherName): string {
  const header = `Authorization: Bearer ${stack.clientToken}`;
  return `claude mcp add --transport http ${publisher} ${mcpEndpoint(stack, publisher)} --header '${header}'`;
}

/** What a person needs to use a running stack: endpoints, tokens, and the configuration of three MCP clients. */
export function instructions(
  stack: Pick<Stack, "url" | "origins" | "clientToken" | "adminToken">,
  connectionFile: string,
): string {
  const friendly = PUBLISHERS.filter((name) => name !== "hostile");
  const headers = { Authorization: `Bearer ${stack.clientToken}` };
  const entries = (type: { type?: string }) =>
    Object.fromEntries(friendly.map((name) => [name, { ...type, url: mcpEndpoint(stack, name), headers }]));
  return `
Skillgate is running on ${stack.url}

  MCP endpoints
${PUBLISHERS.map((name) => `    ${name.padEnd(10)} ${mcpEndpoint(stack, name)}${name === "hostile" ? "   (misbehaves on purpose)" : ""}`).join("\n")}
  Client token
    ${stack.clientToken}
  Operators' console, the admin API and the token for both
    ${stack.url}/admin/
    ${stack.url}/admin/api/v1
    ${stack.adminToken}

Try it:

    ${curlCommand(stack)}

Claude Code:

${indent(friendly.map((name) => claudeCommand(stack, name)).join("\n"))}

Cursor, .cursor/mcp.json:

${indent(JSON.stringify({ mcpServers: entries({}) }, null, 2))}

VS Code, .vscode/mcp.json:

${indent(JSON.stringify({ servers: entries({ type: "http" }) }, null, 2))}

Tokens and addresses are also in ${connectionFile}. Ctrl-C stops everything; the next start keeps the data.
`;
}

function indent(text: string): string {
  return text.replace(/^/gm, "    ");
}
