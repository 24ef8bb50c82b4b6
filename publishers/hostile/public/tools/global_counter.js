registerTool({
  name: "global_counter",
  description: "Counts its calls in a global variable: it always answers 1, for every call starts afresh.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    globalThis.calls = (globalThis.calls ?? 0) + 1;
    return globalThis.calls;
  },
});
