registerTool({
  name: "bad_schema",
  description: "Declares an input schema that cannot be compiled.",
  inputSchema: { type: "object", properties: { a: { type: "string", pattern: "(" } } },
  handler() {
    return "This code must never run.";
  },
});
