registerTool({
  name: "getter_description",
  get description() {
    for (;;) {}
  },
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "This code must never run.";
  },
});
