registerTool({
  name: "fetch_slow",
  description: "Asks for a page that takes a minute to begin.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    return (await host.fetchOrigin("/api/slow")).status;
  },
});
