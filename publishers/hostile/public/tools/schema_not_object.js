registerTool({
  name: "schema_not_object",
  description: "Declares an input schema that is not an object.",
  inputSchema: "anything",
  handler() {
    return "This code must never run.";
  },
});
