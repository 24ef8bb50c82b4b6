import type { Json, JsonObject } from "../json.ts";

/** The two families of MCP revisions one endpoint serves: handshake (`legacy`) and per-request `_meta` (`modern`). */
export type Era = "legacy" | "modern";

export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

export interface ListedResource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly _meta?: JsonObject;
}

export interface ListedResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/** A `text`, `image`, `audio`, `resource` or `resource_link` block. */
export type ContentBlock = JsonObject & { readonly type: string };

export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: Json;
  readonly isError: boolean;
  readonly _meta?: JsonObject;
}

export interface ResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  /** Base64. */
  readonly blob?: string;
  readonly _meta?: JsonObject;
}

/** A skill as `skills/list` names it (extension `io.modelcontextprotocol/skills`, SEP-2640). */
export interface SkillEntry {
  /** Of its `SKILL.md`. */
  readonly uri: string;
  /** All of the `SKILL.md`'s own; with `name` and `description`. */
  readonly frontmatter: JsonObject;
  /** Every file of the skill, the `SKILL.md` among them. */
  readonly resources: readonly SkillResource[];
}

export interface SkillResource {
  readonly uri: string;
  /** `sha256:` and 64 hexadecimal digits, of the file's bytes. */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

/** The Agent Skills of an origin; their files are among the provider's resources. */
export interface ProvidedSkills {
  readonly entries: readonly SkillEntry[];
  /** Where the manifest is that names them; `null` where there is none, or nothing in it. */
  readonly manifestUrl: string | null;
  readonly pointer: SkillsPointer;
}

/**
 * How the handshake names the manifest under `capabilities.experimental`: `string` is `agentSkillsUrl`, as Agent Skills v0.2.0 has it, `object`
 * is `agentSkills`, as the schema of MCP has it, `off` is not at all. `null`: as the agreed revision wants it.
 */
export type SkillsPointer = "string" | "object" | "off" | null;

/** What one request brings along. */
export interface CallContext {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly requestId: string | number;
  /** Aborted when a modern client disconnects or the host gives up; calls of legacy clients have none. */
  readonly signal: AbortSignal | undefined;
  readonly clientCapabilities: JsonObject;
  /** `params._meta`, or an empty object. */
  readonly meta: JsonObject;
  /** Sends `notifications/progress` where the client gave a token and the answer is a stream; otherwise does nothing. */
  progress(progress: number, total?: number, message?: string): void;
}

/**
 * What one client sees of one origin: the only thing the MCP core knows of the world. Lists are complete and in
 * deterministic order; the core paginates them.
 */
export interface Provider {
  readonly serverInfo: { readonly name: string; readonly title?: string; readonly version: string };
  readonly instructions?: string;
  /** Whether the client will be told when the lists change; by default it will not. */
  readonly listChanged?: boolean;
  readonly tools: readonly ListedTool[];
  readonly resources: readonly ListedResource[];
  readonly resourceTemplates: readonly ListedResourceTemplate[];
  /** Whether the handshake promises resources; by default where there are some. */
  readonly promisesResources?: boolean;
  /** Absent where there are no Agent Skills: then their methods do not exist either. */
  readonly skills?: ProvidedSkills;
  /** How long a client may keep the lists, milliseconds. */
  readonly ttlMs: number;
  /** Called only with the name of a listed tool. Input validation is the provider's. */
  callTool(name: string, args: JsonObject, context: CallContext): ToolResult | Promise<ToolResult>;
  /** One English sentence about a tool that is not listed and that the client may know all the same; `null` where there is nothing to say. */
  readonly whyMissing?: (name: string) => string | null;
  /** `null` for an unknown URI. */
  readResource(
    uri: string,
    context: CallContext,
  ): readonly ResourceContents[] | null | Promise<readonly ResourceContents[] | null>;
}
