// llms.txt declares a hash of 64 zeros for this file, as if someone had changed it on the way. It must never run.
registerTool({
  name: "corrupt_skill",
  description: "Never listed: its bytes are not the ones its publisher declared.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return "This code must never run.";
  },
});
