registerTool({
  name: "native_loop",
  description: "Loops forever inside a built-in function, where no bytecode runs.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);
  },
});
