registerTool({
  name: "malformed_hash",
  description: "Is declared with a hash in capitals.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "This code must never run.";
  },
});
