registerTool({
  name: "throws_huge",
  description: "Throws an error with a message of five million characters.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    throw new Error("x".repeat(5000000));
  },
});
