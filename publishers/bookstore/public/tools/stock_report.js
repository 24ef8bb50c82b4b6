registerTool({
  name: "stock_report",
  title: "Stock report",
  description: "Counts titles and copies of every genre and lists what is sold out.",
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler() {
    const read = async (path) => {
      const answer = await host.fetchOrigin(path);
      if (answer.status !== 200) throw new Error(`${path} answered with status ${answer.status}.`);
      return JSON.parse(answer.body);
    };
    const { genres } = await read("/api/genres");
    // One after the other on purpose: each request waits for the one before.
    const rows = [];
    for (const genre of genres) rows.push(await read(`/api/genres/${encodeURIComponent(genre)}/stock`));
    return {
      titles: rows.reduce((sum, row) => sum + row.titles, 0),
      copies: rows.reduce((sum, row) => sum + row.copies, 0),
      soldOut: rows.flatMap((row) => row.soldOut),
      genres: rows,
    };
  },
});
