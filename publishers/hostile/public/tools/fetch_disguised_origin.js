registerTool({
  name: "fetch_disguised_origin",
  description: "Asks for another site in a spelling that looks like a path.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    return (await host.fetchOrigin("/\\example.com/")).body;
  },
});
