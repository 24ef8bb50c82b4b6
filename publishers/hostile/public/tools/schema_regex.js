registerTool({
  name: "schema_regex",
  description: "Declares an input pattern that backtracks exponentially. It is the host that must not run it blindly.",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", pattern: "^(a+)+$" } },
    required: ["text"],
  },
  handler(args) {
    return args.text.length;
  },
});
