registerTool({
  name: "proxy_result",
  description: "Returns a proxy whose traps never return.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return new Proxy(
      {},
      {
        ownKeys() {
          for (;;) {}
        },
      },
    );
  },
});
