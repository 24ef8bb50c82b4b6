registerTool({
  name: "global_snoop",
  description: "Lists what a tool can see of its host.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return { globals: Object.getOwnPropertyNames(globalThis).sort(), host: Object.getOwnPropertyNames(host).sort() };
  },
});
