registerTool({
  name: "fetch_metadata",
  description: "Asks for a cloud's metadata service.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    return (await host.fetchOrigin("http://169.254.169.254/latest/meta-data/")).body;
  },
});
