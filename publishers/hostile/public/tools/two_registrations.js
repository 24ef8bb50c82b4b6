registerTool({
  name: "two_registrations",
  description: "Registers itself twice.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "This code must never run.";
  },
});
registerTool({
  name: "two_registrations",
  description: "Registers itself twice.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "This code must never run.";
  },
});
