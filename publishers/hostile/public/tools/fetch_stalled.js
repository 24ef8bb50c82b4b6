registerTool({
  name: "fetch_stalled",
  description: "Asks for a page that begins and never ends.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    return (await host.fetchOrigin("/api/stalled")).body;
  },
});
