registerTool({
  name: "await_loop",
  description: "Awaits in an endless loop.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    for (;;) await null;
  },
});
