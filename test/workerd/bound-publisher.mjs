// A publisher that the gateway reaches through a service binding, never over the network: it answers only there, so what it answers came
// through the binding. Like a Worker of the same account, it sees the requests as they were made.
const TOOL = `registerTool({
  name: "post_back",
  handler({ path, body, contentType }) { return JSON.parse(host.fetchOrigin(path, { method: "POST", body, contentType }).body); },
});`;

export default {
  async fetch(request) {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/llms.txt": {
        const metadata = JSON.stringify({ tool: "/post_back.js", tool_sha256: await sha256(TOOL) });
        return new Response(`# Bound\n\n## Skills\n\n- [post_back](/p/SKILL.md): Posts <!-- skill: ${metadata} -->\n`);
      }
      case "/post_back.js":
        return new Response(TOOL);
      case "/echo":
        return Response.json({
          method: request.method,
          url: request.url,
          body: await request.text(),
          headers: Object.fromEntries(request.headers),
        });
      case "/redirect":
        return new Response(null, { status: 307, headers: { Location: "/echo" } });
      case "/away":
        return new Response(null, { status: 302, headers: { Location: "https://other.example/echo" } });
      case "/silent":
        await new Promise((resolve) => setTimeout(resolve, 60_000));
        return new Response("late");
      case "/stalled":
        return new Response(stalled());
      default:
        return new Response("not found", { status: 404 });
    }
  },
};

/** Begins an answer and does not end it within the patience of any test. */
function stalled() {
  let begun = false;
  return new ReadableStream({
    async pull(controller) {
      if (begun) await new Promise((resolve) => setTimeout(resolve, 60_000));
      begun = true;
      controller.enqueue(new TextEncoder().encode("begun"));
    },
  });
}

async function sha256(text) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
