// A program that embeds the library, the same in Node and in a page.

/**
 * @param {string} library the address of the package's files, with a slash at the end
 * @param {string} origin
 * @param {readonly { attester: string, publicKey: string }[] | undefined} requireAttestation
 */
export async function connect(library, origin, requireAttestation) {
  const { connectStaticSkills } = await import(`${library}web.js`);
  const { createMcpServer } = await import(`${library}mcp-core-async.js`);
  const skills = await connectStaticSkills(origin, requireAttestation === undefined ? {} : { requireAttestation });
  const server = createMcpServer(skills, { name: "skillgate", title: "Skillgate" });
  return {
    recipes: skills.recipes,
    rejected: skills.rejected.map(({ name, code }) => `${name}: ${code}`),
    /** @param {string} message */
    ask: async (message) => JSON.stringify(await server.handle(message)),
    /** @param {string} name @param {object} args */
    call: (name, args) => skills.callTool(name, args),
  };
}
