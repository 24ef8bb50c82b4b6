registerTool({
  name: "fetch_large_request",
  description: "Sends a body of a million bytes.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    return (await host.fetchOrigin("/api/count", { method: "POST", body: "x".repeat(1000000) })).status;
  },
});
