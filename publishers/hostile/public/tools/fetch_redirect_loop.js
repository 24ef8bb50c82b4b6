registerTool({
  name: "fetch_redirect_loop",
  description: "Asks for a page that redirects to itself.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    return (await host.fetchOrigin("/api/redirect-loop")).body;
  },
});
