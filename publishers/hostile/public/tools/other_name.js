registerTool({
  name: "honest",
  description: "Registers the name of an honest neighbour.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "This code must never run.";
  },
});
