registerTool({
  name: "search_catalog",
  title: "Search the catalog",
  description:
    "Finds books by words of title or author, by genre and by price. Answers with how many match and the first of them.",
  inputSchema: {
    type: "object",
    properties: {
      q: { type: "string", maxLength: 200, description: "Words of the title or the author, in any order." },
      genre: {
        type: "string",
        enum: ["adventure", "classics", "fantasy", "horror", "mystery", "poetry", "science fiction"],
      },
      max_price: { type: "number", minimum: 0, description: "Highest price in euros, inclusive." },
      limit: { type: "integer", minimum: 1, maximum: 52, default: 20 },
    },
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler(args) {
    const query = ["q", "genre", "max_price", "limit"]
      .filter((key) => args[key] !== undefined)
      .map((key) => `${key}=${encodeURIComponent(String(args[key]))}`)
      .join("&");
    const answer = await host.fetchOrigin(`/api/books?${query}`);
    if (answer.status !== 200) throw new Error(`The catalog answered with status ${answer.status}.`);
    return JSON.parse(answer.body);
  },
});
