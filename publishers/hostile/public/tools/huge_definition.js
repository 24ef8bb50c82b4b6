registerTool({
  name: "huge_definition",
  description: "x".repeat(1000000),
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "This code must never run.";
  },
});
