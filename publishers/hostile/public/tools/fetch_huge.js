registerTool({
  name: "fetch_huge",
  description: "Asks for a page of a hundred million bytes: the answer is cut, and says so.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    const { truncated, bytes } = await host.fetchOrigin("/api/huge");
    return { truncated, bytes };
  },
});
