registerTool({
  name: "server_time",
  title: "Time of the server",
  description: "Returns the current time of the publisher's server as ISO 8601 text and as milliseconds since 1970.",
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
  outputSchema: {
    type: "object",
    properties: {
      now: { type: "string", description: "ISO 8601, UTC." },
      epoch: { type: "number", description: "Milliseconds since 1970-01-01T00:00:00Z." },
    },
    required: ["now", "epoch"],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler() {
    const answer = await host.fetchOrigin("/api/time");
    if (answer.status !== 200) throw new Error(`The site answered with status ${answer.status}.`);
    const { now, epoch } = JSON.parse(answer.body);
    return { now, epoch };
  },
});
