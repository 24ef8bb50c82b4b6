import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import type { ReleaseSkill } from "../../src/core/discovery/release.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { compileSchema } from "../../src/core/schema/compile.ts";
import { SchemaError } from "../../src/core/schema/schema-error.ts";
import { listTool } from "../../src/core/serve-listing.ts";

/** Definitions of publishers; the official client must list every tool that discovery would let through. */
const DEFINITIONS: Record<string, { inputSchema?: JsonObject; outputSchema?: JsonObject; annotations?: JsonObject }> = {
  plain: {},
  "no type": { inputSchema: { properties: { a: { type: "string" } } } },
  "boolean properties": { inputSchema: { type: "object", properties: { a: true, b: false } } },
  "wrong annotations": { annotations: { readOnlyHint: "yes", title: 5 } },
  "draft 04": {
    outputSchema: {
      $schema: "http://json-schema.org/draft-04/schema#",
      type: "object",
      properties: { a: { minimum: 1, exclusiveMinimum: true } },
    },
  },
  "draft 2019-09": { outputSchema: { $schema: "https://json-schema.org/draft/2019-09/schema", type: "object" } },
  "unknown format": { outputSchema: { type: "object", properties: { a: { format: "x" } } } },
  nullable: { outputSchema: { type: "object", properties: { a: { nullable: true } } } },
  id: { outputSchema: { type: "object", id: "x", $async: true } },
  "embedded $id": {
    outputSchema: {
      type: "object",
      properties: { a: { $id: "https://x.example/" }, b: { $id: "https://x.example/" } },
    },
  },
  "empty enum": { outputSchema: { type: "object", properties: { a: { enum: [] } } } },
  "repeated enum": { outputSchema: { type: "object", properties: { a: { enum: [1, 1] } } } },
  "repeated required": { outputSchema: { type: "object", required: ["a", "a"] } },
  dynamic: {
    outputSchema: { type: "object", properties: { a: { $dynamicRef: "#n" } }, $defs: { n: { $dynamicAnchor: "n" } } },
  },
  "odd definitions": { outputSchema: { type: "object", definitions: 5, title: {}, examples: 1 } },
  "reference through an unknown keyword": {
    outputSchema: { type: "object", properties: { a: { $ref: "#/x/y" } }, x: { y: {} } },
  },
};

it.each(Object.entries(DEFINITIONS))("the official client lists a tool with %s", async (_name, definition) => {
  const full = { name: "t", inputSchema: { type: "object" }, ...definition } as ReleaseSkill["definition"];
  try {
    compileSchema(full.inputSchema);
    if (full.outputSchema !== undefined) compileSchema(full.outputSchema);
  } catch (error) {
    // Discovery rejects the skill, so there is nothing to list.
    expect(error).toBeInstanceOf(SchemaError);
    return;
  }
  const tool = listTool({ skill: { publicName: "t", definition: full } as ReleaseSkill, verdict: null, flag: null });
  const server = new Server({ name: "s", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [tool] }) as never);
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "c", version: "1" });
  await Promise.all([server.connect(near), client.connect(far)]);
  expect((await client.listTools()).tools).toHaveLength(1);
  await client.close();
});
