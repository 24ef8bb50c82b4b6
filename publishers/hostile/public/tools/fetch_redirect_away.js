registerTool({
  name: "fetch_redirect_away",
  description: "Asks for a page that redirects to another origin.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    return (await host.fetchOrigin("/api/redirect-away")).body;
  },
});
