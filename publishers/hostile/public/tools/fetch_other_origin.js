registerTool({
  name: "fetch_other_origin",
  description: "Asks for a page of another site.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    return (await host.fetchOrigin("https://example.com/")).body;
  },
});
