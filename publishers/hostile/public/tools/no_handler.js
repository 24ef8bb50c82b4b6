registerTool({
  name: "no_handler",
  description: "Registers no handler.",
  inputSchema: { type: "object", properties: {} },
  handler: "not a function",
});
