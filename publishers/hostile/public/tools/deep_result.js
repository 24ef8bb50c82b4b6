registerTool({
  name: "deep_result",
  description: "Returns arrays nested a hundred thousand deep.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    let nested = [];
    for (let i = 0; i < 100000; i++) nested = [nested];
    return nested;
  },
});
