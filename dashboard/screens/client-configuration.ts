import { quoted } from "../api/curl.ts";
import type { Setting } from "../api/types.ts";

/** The MCP endpoint of one origin; the form with a path, which clients do not strip. */
export function endpointOf(gateway: string, origin: string): string {
  return `${gateway}/mcp/${origin.replace(/^https?:\/\//, "")}`;
}

/**
 * Where clients reach the gateway: here, unless its settings say that this host is the operators' own or that its public hosts are others.
 * Null: this host is the operators' own, and no setting names another.
 */
export function publicAddress(
  settings: readonly Pick<Setting, "name" | "value">[],
  here: { readonly protocol: string; readonly host: string },
): string | null {
  const settingOf = (name: string) => String(settings.find((setting) => setting.name === name)?.value ?? "");
  const isOperators = settingOf("ADMIN_HOST") === here.host;
  const named = settingOf("PUBLIC_HOSTS")
    .split(/[\s,]+/)
    .filter((host) => host !== "");
  if (isOperators && named.length === 0) return null;
  const hosts = named.filter((host) => host !== settingOf("ADMIN_HOST"));
  const [first] = hosts;
  const host = first === undefined || (hosts.includes(here.host) && !isOperators) ? here.host : first;
  return `${here.protocol}//${host}`;
}

/** How common MCP clients are told of an endpoint and its token. */
export function configurations(
  gateway: string,
  origin: string,
  token: string,
): readonly { readonly title: string; readonly text: string }[] {
  const url = endpointOf(gateway, origin);
  const headers = { Authorization: `Bearer ${token}` };
  const name = nameOf(origin);
  const pretty = (value: unknown) => JSON.stringify(value, null, 2);
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  return [
    {
      title: "Claude Code",
      text: `claude mcp add --transport http ${name} ${quoted(url)} --header ${quoted(`Authorization: Bearer ${token}`)}`,
    },
    { title: "Cursor, .cursor/mcp.json", text: pretty({ mcpServers: { [name]: { url, headers } } }) },
    { title: "VS Code, .vscode/mcp.json", text: pretty({ servers: { [name]: { type: "http", url, headers } } }) },
    {
      title: "curl",
      text: [
        `curl -sS ${quoted(url)}`,
        `-H ${quoted(`Authorization: Bearer ${token}`)}`,
        "-H 'Content-Type: application/json'",
        "-H 'Accept: application/json, text/event-stream'",
        `-d ${quoted(JSON.stringify(list))}`,
      ].join(" \\\n  "),
    },
  ];
}

/** A name for a configuration file: the host in letters, digits and dashes. */
function nameOf(origin: string): string {
  return new URL(origin).host.replace(/[^a-z0-9]+/gi, "-").replace(/^-+|-+$/g, "") || "skillgate";
}
