registerTool({
  name: "fetch_in_sort",
  description: "Asks for a page from inside a comparison.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return [3, 1, 2].sort((a, b) => host.fetchOrigin("/api/count").status - 200 + a - b);
  },
});
