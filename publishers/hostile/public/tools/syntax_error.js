registerTool({ name: "syntax_error", handler( }
