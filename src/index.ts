// The public surface of the package `skillgate`. Each part has a subpath of its own too.

export type { LlmsTxt, MemoryLine, ProseLine, SkillLine } from "./core/llmstxt/parse.ts";
export { parseLlmsTxt } from "./core/llmstxt/parse.ts";
export { VERSION } from "./core/version.ts";
export { ToolHost } from "./library/host.ts";
export {
  AsyncToolHost,
  type AsyncToolHostOptions,
  type CallOptions,
  type Capability,
  type CapabilityCall,
  CapabilityError,
  type ListedTool,
  type OriginFetcher,
  ToolHostError,
  type ToolHostErrorCode,
  type ToolHostOptions,
  type WasmSource,
} from "./library/host-async.ts";
