registerTool({
  name: "sum_numbers",
  title: "Sum of two numbers",
  description: "Adds two numbers and returns their sum.",
  inputSchema: {
    type: "object",
    properties: {
      a: { type: "number", description: "The first number." },
      b: { type: "number", description: "The second number." },
    },
    required: ["a", "b"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  handler({ a, b }) {
    return a + b;
  },
});
