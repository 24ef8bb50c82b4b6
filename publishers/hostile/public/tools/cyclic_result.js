registerTool({
  name: "cyclic_result",
  description: "Returns an object that holds itself.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    const self = {};
    self.self = self;
    return self;
  },
});
