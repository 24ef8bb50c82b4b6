import { VERSION } from "../core/version.ts";

/** How the gateway names itself to MCP clients. */
export const SERVER_INFO = { name: "skillgate", title: "Skillgate", version: VERSION };
