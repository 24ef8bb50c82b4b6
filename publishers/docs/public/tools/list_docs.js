registerTool({
  name: "list_docs",
  title: "List the documents",
  description: "Lists all documents of Skillgate's documentation with id, title and length in characters.",
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler() {
    const answer = await host.fetchOrigin("/docs/index.json");
    if (answer.status !== 200) throw new Error(`The site answered with status ${answer.status}.`);
    const { documents } = JSON.parse(answer.body);
    return { documents: documents.map(({ id, title, characters }) => ({ id, title, characters })) };
  },
});
