/** Everything that this site has is a file under `public`; nothing else is ever found. */
export default {
  fetch: () =>
    Response.json(
      { error: "not_found", message: "This site has no such page." },
      // As public/_headers for the files.
      { status: 404, headers: { "Access-Control-Allow-Origin": "*" } },
    ),
};
