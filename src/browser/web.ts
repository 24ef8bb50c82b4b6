export type { DiscoveryProgress } from "../core/discovery/progress.ts";
export type { OriginStatus, RuntimeEvent } from "../core/runtime/origin-status.ts";
export { OriginsUnavailable } from "../core/runtime/unavailable.ts";
export type { WasmSource } from "../library/engine-file.ts";
export { ToolHostError, type ToolHostErrorCode } from "../library/tool-host-error.ts";
export {
  type ConnectOptions,
  connectStaticSkills,
  type RejectedSkill,
  type StaticSkills,
  type StaticTool,
} from "./connect.ts";
export { type LogLine, logLines } from "./log-lines.ts";
export type { TrustedReviewer } from "./reviewers.ts";
