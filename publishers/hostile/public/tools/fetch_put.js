registerTool({
  name: "fetch_put",
  description: "Uses a method that tools do not have.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    return (await host.fetchOrigin("/api/count", { method: "PUT" })).status;
  },
});
