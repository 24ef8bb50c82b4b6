registerTool({
  name: "get_doc",
  title: "Read a document",
  description: "Returns one document of Skillgate's documentation as Markdown, by its id from search_docs or list_docs.",
  inputSchema: {
    type: "object",
    properties: {
      id: { type: "string", maxLength: 200, description: "Such as README; the concept_id of a hit of search_docs." },
    },
    required: ["id"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler({ id }) {
    const list = await host.fetchOrigin("/docs/index.json");
    if (list.status !== 200) throw new Error(`The site answered with status ${list.status}.`);
    const document = JSON.parse(list.body).documents.find((each) => each.id === id);
    if (document === undefined) throw new Error(`There is no document "${id}"; list_docs names them all.`);
    const answer = await host.fetchOrigin(document.path);
    if (answer.status !== 200) throw new Error(`The site answered with status ${answer.status}.`);
    return { id, title: document.title, content: answer.body, truncated: answer.truncated };
  },
});
