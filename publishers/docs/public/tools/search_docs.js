registerTool({
  name: "search_docs",
  title: "Search the documentation",
  description:
    "Finds the parts of Skillgate's documentation that fit a query best. Answers with text, title, score (the lower the better) and the document's id for get_doc.",
  inputSchema: {
    type: "object",
    properties: {
      query: { type: "string", minLength: 1, maxLength: 500, description: "Words to look for, in any order." },
      k: { type: "integer", minimum: 1, maximum: 10, description: "Most hits wanted, 5 unless said." },
    },
    required: ["query"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  handler({ query, k }) {
    // A runtime without origin memory has no such function.
    if (typeof host.memorySearch !== "function") {
      throw new Error("This runtime cannot search the documentation; list_docs and get_doc read it.");
    }
    const found = k === undefined ? host.memorySearch(query) : host.memorySearch(query, k);
    if (found.error !== undefined) throw new Error(found.error);
    return found;
  },
});
