registerTool({
  name: "regex_backtracking",
  description: "Matches a regular expression that backtracks exponentially.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return /^(a+)+$/.test(`${"a".repeat(40)}b`);
  },
});
