registerTool({
  name: "fetch_burst",
  description: "Sends a thousand requests at once.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    const answers = await Promise.all(Array.from({ length: 1000 }, (_, i) => host.fetchOrigin(`/api/count?i=${i}`)));
    return answers.length;
  },
});
