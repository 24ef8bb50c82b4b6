registerTool({
  name: "caught_loop",
  description: "Loops forever and catches whatever tries to stop it.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    for (;;) {
      try {
        for (;;) {}
      } catch {
      } finally {
        for (;;) {}
      }
    }
  },
});
