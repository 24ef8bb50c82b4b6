import { buildIndex } from "../../../src/core/memory/index-builder.ts";
import type { MemoryIndex } from "../../../src/core/memory/memory-index.ts";

let snapshot = new Uint8Array();
let index: MemoryIndex | null = null;

/**
 * Indexes and searches a memory, with nothing of the gateway around it.
 * `PUT /` keeps a snapshot, `POST /build` indexes it and answers what came of it, `POST /search?times=20` with a query as the body searches.
 */
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (request.method === "PUT") {
      snapshot = new Uint8Array(await request.arrayBuffer());
      return new Response();
    }
    if (pathname === "/build") {
      index = build();
      return Response.json({ chunks: index.size, bytes: index.bytes });
    }
    const query = await request.text();
    let hits = 0;
    for (let times = Number(searchParams.get("times")); times > 0; times--) hits = index?.search(query, 10).length ?? 0;
    return Response.json({ hits });
  },
};

function build(): MemoryIndex {
  const slices = buildIndex(snapshot);
  for (;;) {
    const slice = slices.next();
    if (slice.done) return slice.value;
  }
}
