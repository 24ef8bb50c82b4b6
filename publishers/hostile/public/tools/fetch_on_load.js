const answer = host.fetchOrigin("/api/count");
registerTool({
  name: "fetch_on_load",
  description: "Asks for a page while it loads.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return answer.status;
  },
});
