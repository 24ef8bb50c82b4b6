registerTool({
  name: "never_settles",
  description: "Returns a promise that nothing can settle.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return new Promise(() => {});
  },
});
