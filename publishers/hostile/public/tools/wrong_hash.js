registerTool({
  name: "wrong_hash",
  description: "Is declared with a hash that its bytes do not have.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "This code must never run.";
  },
});
