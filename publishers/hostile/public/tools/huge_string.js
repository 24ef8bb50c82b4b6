registerTool({
  name: "huge_string",
  description: "Asks for a string of a thousand million characters.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "x".repeat(1000000000).length;
  },
});
