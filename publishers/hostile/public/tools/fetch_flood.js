registerTool({
  name: "fetch_flood",
  description: "Sends a thousand requests, one after the other.",
  inputSchema: { type: "object", properties: {} },
  async handler() {
    let sum = 0;
    for (let i = 0; i < 1000; i++) sum += (await host.fetchOrigin(`/api/count?i=${i}`)).status;
    return sum;
  },
});
