registerTool({
  name: "deep_recursion",
  description: "Calls itself without an end.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    const down = () => down() + 1;
    return down();
  },
});
