registerTool({
  name: "fetch_broken",
  description: "Asks for a page that breaks off in the middle.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    return (await host.fetchOrigin("/api/broken")).body;
  },
});
