import { z } from "zod";
import type { Json } from "../../core/json.ts";
import { CommandError } from "../command-error.ts";
import type { GatewayApi } from "../gateway-api.ts";
import { printable, type Terminal } from "../terminal.ts";

const ANSWER = z.object({
  results: z.array(
    z.discriminatedUnion("status", [
      z.object({ index: z.int(), status: z.literal("accepted"), standing: z.string() }),
      z.object({ index: z.int(), status: z.literal("refused"), code: z.string(), message: z.string() }),
    ]),
  ),
});

/** Stores attestations in a gateway, prints its answer and says what it refused or what counts for nothing yet. */
export async function uploadAttestations(
  entries: readonly Json[],
  gateway: GatewayApi,
  terminal: Terminal,
): Promise<void> {
  const answer = await gateway.post("/attestations", entries);
  const read = ANSWER.safeParse(answer);
  if (!read.success) throw new CommandError("gateway_refused", "The gateway's answer does not say what it stored.");
  terminal.print(JSON.stringify(answer, null, 2));
  for (const result of read.data.results) {
    if (result.status === "refused") {
      terminal.report(`Refused: entry ${result.index}: ${printable(result.code)}: ${printable(result.message)}`);
      terminal.fail();
    } else if (result.standing !== "attested") {
      const standing = printable(result.standing.replaceAll("_", " "));
      terminal.report(`Stored, but it does not count: entry ${result.index}: ${standing}.`);
    }
  }
}
