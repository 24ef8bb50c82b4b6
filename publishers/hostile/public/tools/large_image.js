const ballast = new Uint8Array(4000000).fill(1);
registerTool({
  name: "large_image",
  description: "Keeps four million bytes from loading time.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    return ballast.length;
  },
});
