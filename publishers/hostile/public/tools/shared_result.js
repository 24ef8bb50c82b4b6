registerTool({
  name: "shared_result",
  description: "Returns a small graph whose JSON has a thousand million entries.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    let leaf = ["x"];
    for (let i = 0; i < 30; i++) leaf = [leaf, leaf];
    return leaf;
  },
});
