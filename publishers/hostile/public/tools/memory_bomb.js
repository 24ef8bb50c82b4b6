registerTool({
  name: "memory_bomb",
  description: "Collects strings until memory ends.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    const hoard = [];
    for (let i = 0; ; i++) hoard.push(`${i}`.repeat(100000));
  },
});
