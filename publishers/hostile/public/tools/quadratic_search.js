registerTool({
  name: "quadratic_search",
  description: "Searches a long string for a long string that is nearly there.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "a".repeat(2e6).indexOf(`${"a".repeat(1e6)}b`);
  },
});
