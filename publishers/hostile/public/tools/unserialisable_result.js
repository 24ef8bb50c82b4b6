registerTool({
  name: "unserialisable_result",
  description: "Returns a value that JSON does not know.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return 10n;
  },
});
