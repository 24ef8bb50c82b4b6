registerTool({
  name: "getter_result",
  description: "Returns an object whose getter never returns.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return {
      get value() {
        for (;;) {}
      },
    };
  },
});
