registerTool({
  name: "memory_bomb_caught",
  description: "Collects buffers and catches the lack of memory.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    const hoard = [];
    for (;;) {
      try {
        hoard.push(new Uint8Array(1000000));
      } catch {}
    }
  },
});
