registerTool({
  name: "sparse_sort",
  description: "Sorts an array of four thousand million holes.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    const holes = [];
    holes.length = 2 ** 32 - 1;
    return holes.sort().length;
  },
});
