import type { JsonObject } from "../../src/core/json.ts";
import { MissingClientCapability } from "../../src/core/mcp/errors.ts";
import type {
  CallContext,
  ContentBlock,
  ListedTool,
  Provider,
  ResourceContents,
  ToolResult,
} from "../../src/core/mcp/provider.ts";
import { JSON_SCHEMA_2020_12, PNG_BASE64, WAV_BASE64 } from "./fixture-data.ts";

interface FixtureTool {
  readonly tool: ListedTool;
  readonly call: (args: JsonObject, context: CallContext) => ToolResult | Promise<ToolResult>;
}

const NO_ARGUMENTS: JsonObject = { type: "object", additionalProperties: false };

const text = (value: string): ContentBlock => ({ type: "text", text: value });
const image: ContentBlock = { type: "image", data: PNG_BASE64, mimeType: "image/png" };
const audio: ContentBlock = { type: "audio", data: WAV_BASE64, mimeType: "audio/wav" };
const embedded = (uri: string, mimeType: string, value: string): ContentBlock => ({
  type: "resource",
  resource: { uri, mimeType, text: value },
});

function fixed(name: string, description: string, ...content: ContentBlock[]): FixtureTool {
  return { tool: { name, description, inputSchema: NO_ARGUMENTS }, call: () => ({ content, isError: false }) };
}

/** The suite calls these by name; what each must answer stands in the suite's own description of the scenario. */
const TOOLS: readonly FixtureTool[] = [
  fixed("test_simple_text", "One text block.", text("This is a simple text response for testing.")),
  fixed("test_image_content", "One image block.", image),
  fixed("test_audio_content", "One audio block.", audio),
  fixed(
    "test_embedded_resource",
    "One embedded resource.",
    embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  ),
  fixed(
    "test_multiple_content_types",
    "Text, an image and a resource.",
    text("Multiple content types test:"),
    image,
    embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ),
  {
    tool: { name: "test_error_handling", description: "Always fails.", inputSchema: NO_ARGUMENTS },
    call: () => ({ content: [text("This tool intentionally returns an error for testing")], isError: true }),
  },
  {
    tool: { name: "test_tool_with_progress", description: "Reports progress.", inputSchema: NO_ARGUMENTS },
    call: reportProgress,
  },
  {
    tool: { name: "json_schema_2020_12_tool", description: "Keeps its schema.", inputSchema: JSON_SCHEMA_2020_12 },
    call: () => ({ content: [text("ok")], isError: false }),
  },
  {
    tool: { name: "test_missing_capability", description: "Needs sampling.", inputSchema: NO_ARGUMENTS },
    call: (_args, { clientCapabilities }) => {
      if (clientCapabilities.sampling === undefined) throw new MissingClientCapability({ sampling: {} });
      return { content: [text("ok")], isError: false };
    },
  },
  fixed("test_logging_tool", "Logs nothing, as no client asked for it.", text("ok")),
  fixed("test_streaming_elicitation", "Asks nothing of the client.", text("ok")),
  {
    tool: {
      name: "test_x_mcp_header",
      description: "Its region travels in a header too.",
      inputSchema: {
        type: "object",
        properties: { region: { type: "string", "x-mcp-header": "Region" }, limit: { type: "integer" } },
        required: ["region"],
      },
    },
    call: ({ region }) => ({ content: [text(`Region: ${String(region)}`)], isError: false }),
  },
  {
    tool: { name: "wait_for_cancellation", description: "Answers once it is cancelled.", inputSchema: NO_ARGUMENTS },
    call: waitForCancellation,
  },
  {
    tool: { name: "count_cancellations", description: "How many calls were cancelled.", inputSchema: NO_ARGUMENTS },
    call: () => ({ content: [text(JSON.stringify(waits))], structuredContent: { ...waits }, isError: false }),
  },
  {
    tool: {
      name: "list_of_numbers",
      description: "Its output is an array, which legacy revisions do not know.",
      inputSchema: NO_ARGUMENTS,
      outputSchema: { type: "array", items: { type: "number" } },
    },
    call: (_args, { era }) => ({
      content: [text("[1,2,3]")],
      structuredContent: era === "modern" ? [1, 2, 3] : { result: [1, 2, 3] },
      isError: false,
    }),
  },
];

async function reportProgress(_args: JsonObject, { progress }: CallContext): Promise<ToolResult> {
  for (const done of [0, 50, 100]) {
    progress(done, 100, `Completed step ${done} of 100`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { content: [text("done")], isError: false };
}

const waits = { started: 0, cancelled: 0 };

function waitForCancellation(_args: JsonObject, { signal, progress }: CallContext): Promise<ToolResult> {
  waits.started++;
  progress(0);
  return new Promise((resolve) => {
    const finish = (outcome: string) => resolve({ content: [text(outcome)], isError: false });
    const timer = setTimeout(() => finish("never cancelled"), 5_000);
    signal?.addEventListener("abort", () => {
      waits.cancelled++;
      clearTimeout(timer);
      finish("cancelled");
    });
  });
}

const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/;

function read(uri: string): readonly ResourceContents[] | null {
  if (uri === "test://static-text") {
    return [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }];
  }
  if (uri === "test://static-binary") return [{ uri, mimeType: "image/png", blob: PNG_BASE64 }];
  const id = TEMPLATE.exec(uri)?.[1];
  if (id === undefined) return null;
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return [{ uri, mimeType: "application/json", text: data }];
}

export const FIXTURE: Provider = {
  serverInfo: { name: "skillgate-conformance-fixture", version: "1.0.0" },
  instructions: "For the conformance suite.",
  tools: TOOLS.map(({ tool }) => tool),
  resources: [
    { uri: "test://static-text", name: "Static text", mimeType: "text/plain" },
    { uri: "test://static-binary", name: "Static binary", mimeType: "image/png" },
  ],
  resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "Template", mimeType: "application/json" }],
  ttlMs: 15_000,
  async callTool(name, args, context) {
    const found = TOOLS.find(({ tool }) => tool.name === name);
    if (found === undefined) throw new Error(`The core called an unlisted tool: ${name}`);
    return found.call(args, context);
  },
  readResource: async (uri) => read(uri),
};
