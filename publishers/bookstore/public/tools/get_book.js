registerTool({
  name: "get_book",
  title: "Get one book",
  description: "Returns one book by its id: title, author, genre, year, price in euros and copies in stock.",
  inputSchema: {
    type: "object",
    properties: { id: { type: "string", minLength: 1, maxLength: 40, description: "As search_catalog gives it: b001." } },
    required: ["id"],
    additionalProperties: false,
  },
  outputSchema: {
    type: "object",
    properties: {
      id: { type: "string" },
      title: { type: "string" },
      author: { type: "string" },
      genre: { type: "string" },
      year: { type: "integer" },
      price: { type: "number" },
      stock: { type: "integer", minimum: 0 },
    },
    required: ["id", "title", "author", "genre", "year", "price", "stock"],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler({ id }) {
    const answer = await host.fetchOrigin(`/api/books/${encodeURIComponent(id)}`);
    if (answer.status === 404) throw new Error(`No book has the id "${id}". search_catalog gives the ids.`);
    if (answer.status !== 200) throw new Error(`The catalog answered with status ${answer.status}.`);
    return JSON.parse(answer.body);
  },
});
