registerTool({
  name: "throws_undefined",
  description: "Throws nothing at all.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    throw undefined;
  },
});
