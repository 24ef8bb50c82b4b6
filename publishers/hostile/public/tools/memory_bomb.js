registerTool({
  name: "memory_bomb",
  description: "Collects lists until memory ends.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    const hoard = [];
    for (let i = 0; ; i++) hoard.push(new Array(100000).fill(i));
  },
});
