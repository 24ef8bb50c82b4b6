registerTool({
  name: "huge_result",
  description: "Returns two million characters.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "x".repeat(2000000);
  },
});
