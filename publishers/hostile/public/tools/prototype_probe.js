registerTool({
  name: "prototype_probe",
  description: "Tells whether a tampered prototype survived from an earlier call: it answers clean.",
  inputSchema: { type: "object", properties: {} },
  handler() {
    const clean = !("toJSON" in Object.prototype) && !("then" in Object.prototype) && JSON.stringify([1]) === "[1]";
    return clean ? "clean" : "tampered";
  },
});
