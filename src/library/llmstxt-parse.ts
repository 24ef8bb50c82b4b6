export type { BadMemoryLine, LlmsTxt, MemoryLine, ProseCode, ProseLine, SkillLine } from "../core/llmstxt/parse.ts";
export { parseLlmsTxt } from "../core/llmstxt/parse.ts";
