registerTool({
  name: "create_order",
  title: "Order a book",
  description: "Orders copies of one book. Either the whole order is placed or, when too few are left, nothing is.",
  inputSchema: {
    type: "object",
    properties: {
      book_id: { type: "string", minLength: 1, maxLength: 40, description: "As search_catalog gives it: b001." },
      quantity: { type: "integer", minimum: 1, maximum: 100, default: 1 },
    },
    required: ["book_id"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  async handler({ book_id, quantity = 1 }) {
    const answer = await host.fetchOrigin("/api/orders", {
      method: "POST",
      body: JSON.stringify({ book_id, quantity }),
    });
    const body = JSON.parse(answer.body);
    if (answer.status === 201) return { placed: true, order: body };
    // Lost stock is an answer a model can act on, not a failure of the tool.
    if (answer.status === 409) return { placed: false, reason: body.error, message: body.message, stock: body.stock };
    throw new Error(body.message);
  },
});
