registerTool({
  name: "throws",
  description: "Throws an ordinary error.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    throw new Error("This tool always fails.");
  },
});
