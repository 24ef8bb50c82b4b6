registerTool({
  name: "promise_loop",
  description: "Queues a promise job from every promise job.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    const again = () => Promise.resolve().then(again);
    return again();
  },
});
