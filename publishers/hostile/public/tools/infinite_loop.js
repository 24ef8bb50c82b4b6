registerTool({
  name: "infinite_loop",
  description: "Loops forever.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    while (true) {}
  },
});
