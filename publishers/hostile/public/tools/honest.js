registerTool({
  name: "honest",
  description: "Answers ok. It shows that its bad neighbours did no harm.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "ok";
  },
});
