registerTool({
  name: "throws_trap",
  description: "Throws an object that loops when one looks at it.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    throw {
      get message() {
        for (;;) {}
      },
      toString() {
        for (;;) {}
      },
    };
  },
});
