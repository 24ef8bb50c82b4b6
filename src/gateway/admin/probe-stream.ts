import { inBackground } from "../background.ts";
import type { Watcher } from "../durable/hub-answer.ts";
import { requireProbeable } from "../registry/onboarding.ts";
import { getOrigin } from "../registry/origins.ts";
import type { AdminContext } from "./environment.ts";
import { type Prober, probeAndRecord } from "./probe.ts";
import { answerProblem } from "./problem.ts";

export const EVENT_STREAM = "text/event-stream";

/** Whether the caller wants to watch. */
export function wantsStream(c: AdminContext): boolean {
  return (c.req.header("Accept") ?? "").toLowerCase().includes(EVENT_STREAM);
}

/**
 * Probes an origin while the caller watches: `fetch` and `hash` as they come, then `rejected` for each thing left out, and at the end
 * `result`, which is what the route answers without a stream, or `problem`. The probe goes on where the caller stops watching.
 *
 * @throws RegistryError `not_found`, `bad_state` (revoked): then there is no stream.
 */
export async function streamProbe(c: AdminContext, prober: Prober, id: string): Promise<Response> {
  requireProbeable(await getOrigin(c.get("registry"), id));
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  const send = (event: string, fields: unknown) =>
    // Who stopped watching misses nothing.
    writer.write(encoder.encode(`event: ${event}\ndata: ${JSON.stringify(fields)}\n\n`)).catch(() => {});
  const watch: Watcher = ({ kind, ...fields }) => void send(kind, fields);
  const probe = async () => {
    try {
      const result = await probeAndRecord(c, prober, id, watch);
      for (const rejected of result.rejected) send("rejected", rejected);
      send("result", result);
    } catch (error) {
      send("problem", await answerProblem(error as Error, c).json());
    }
    await writer.close().catch(() => {});
  };
  inBackground(c, probe());
  return new Response(readable, { headers: { "Content-Type": EVENT_STREAM, "Cache-Control": "no-store" } });
}
