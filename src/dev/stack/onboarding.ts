import type { AdminClient, ProbeResult } from "./admin-client.ts";

const CLIENT_NAME = "local";
const PROBE_TRIES = 3;

/**
 * Registers, probes and activates an origin, or brings a known one up to date: code that its publisher changed since is approved,
 * for whoever starts a local stack is the reviewer. Answers the origin's id and what the probe found.
 */
export async function onboardOrigin(admin: AdminClient, origin: string): Promise<{ id: string; probe: ProbeResult }> {
  const id = await admin.ensureOrigin(origin);
  const probe = await probeUntilFound(admin, id, origin);
  const active = (await admin.originStatus(id)) === "active";
  const current = probe.skills.every((skill) => skill.approvedAt !== null && !skill.changedSinceApproval);
  if (active && !current) await admin.suspend(id, "Its code changed; the local stack approves what it serves now.");
  if (!active || !current) await admin.activate(id);
  return { id, probe };
}

/** A publisher that has only just started may refuse the first connection; the gateway then remembers that for some seconds. */
async function probeUntilFound(admin: AdminClient, id: string, origin: string): Promise<ProbeResult> {
  for (let tries = 1; ; tries++) {
    const probe = await admin.probe(id);
    if (probe.error === null) return probe;
    if (tries === PROBE_TRIES) throw new Error(`Probing ${origin} failed: ${probe.error.message}`);
  }
}

/**
 * Answers a token that the gateway accepts: the kept one while it is good, else a fresh one of a fresh client that may call every
 * origin without a rate limit.
 */
export async function ensureClientToken(
  admin: AdminClient,
  gatewayUrl: string,
  origin: string,
  kept: string | undefined,
): Promise<string> {
  if (kept !== undefined && (await isAccepted(gatewayUrl, origin, kept))) return kept;
  return admin.createToken(await admin.createClient(CLIENT_NAME));
}

async function isAccepted(gatewayUrl: string, origin: string, token: string): Promise<boolean> {
  const answer = await fetch(`${gatewayUrl}/mcp?origin=${encodeURIComponent(origin)}`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${token}`,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  await answer.body?.cancel();
  return answer.status === 200;
}
