throw new Error("This tool fails before it registers.");
