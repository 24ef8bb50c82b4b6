/** Everything that this site has is a file under `public`; nothing else is ever found. */
export default {
  fetch: () => Response.json({ error: "not_found", message: "This site has no such page." }, { status: 404 }),
};
