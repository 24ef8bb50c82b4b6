import { VERSION } from "../../core/version.ts";

/** A file of a new site, from its root. */
export interface StarterFile {
  readonly path: string;
  readonly content: string;
  /** Of one that is there already, what it says will do. */
  readonly keeps?: true;
}

/** Names that a folder, a tool and a recipe can all have. */
export const SKILL_NAME = /^[a-z][a-z0-9_-]{0,63}$/;

/**
 * A whole site with one skill, but for what `build` writes.
 *
 * @param name of the skill, as {@link SKILL_NAME}.
 */
export function starterSite(name: string): readonly StarterFile[] {
  return [
    { path: "llms.txt", content: llmsTxt(name) },
    { path: `skills/${name}/tool.js`, content: tool(name) },
    { path: `skills/${name}/SKILL.md`, content: recipe(name) },
    { path: ".github/workflows/skills.yml", content: WORKFLOW },
    { path: ".gitattributes", content: GIT_ATTRIBUTES, keeps: true },
    { path: ".nojekyll", content: "", keeps: true },
  ];
}

const DESCRIPTION = "Greets somebody by name. Use it to see that this site's tools can be called.";

const llmsTxt = (name: string) => `# My skills

> What this site's tools are for, in a sentence or two.

## Skills

- [${name}](skills/${name}/SKILL.md): ${DESCRIPTION}
`;

const tool = (name: string) => `registerTool({
  name: "${name}",
  description: "Greets somebody by name.",
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, description: "Whom to greet." },
      style: { type: "string", enum: ["warm", "formal"], default: "warm", description: "How to greet." },
    },
    required: ["name"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  handler({ name, style = "warm" }) {
    return { greeting: style === "formal" ? \`Good day, \${name}.\` : \`Hello, \${name}!\` };
  },
});
`;

const recipe = (name: string) => `---
name: ${name}
description: ${DESCRIPTION}
license: MIT
metadata:
  version: "1.0.0"
---

# Greet somebody

Call the tool \`${name}\` with the \`name\` of whom to greet. \`style\` is \`warm\` unless you say \`formal\`.

## Example

\`{"name": "Ada"}\` → \`{"greeting": "Hello, Ada!"}\`
`;

/** Ends in an error where what is committed is not what `skillgate build` writes, or where a gateway would leave something out. */
const WORKFLOW = `name: Skills
on: [push, pull_request]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with:
          node-version: 24
      - run: npx --yes skillgate@${VERSION} build --check
      - run: npx --yes skillgate@${VERSION} lint .
`;

/** Hashes are of exact bytes, which a checkout with other line endings would change. */
const GIT_ATTRIBUTES = "* -text\n";
