/** What is known of a change: `null`, anything may have changed. */
export type Change =
  | { readonly type: "audit"; readonly action: string }
  | { readonly type: "discovery" }
  | { readonly type: "usage" }
  | null;

/** By the first word of an action in the audit log: beginnings of the API's paths that show more or other things after it. */
const BY_ACTION: ReadonlyMap<string, readonly string[]> = new Map([
  ["origin", ["/origins", "/skills", "/attestations", "/health"]],
  ["skill", ["/origins/", "/skills", "/attestations"]],
  ["reviewer", ["/reviewers", "/attestations", "/origins/"]],
  ["attestation", ["/attestations", "/origins/"]],
  ["revocation", ["/revocations", "/attestations", "/origins/"]],
  ["trust_root", ["/trust-root", "/attestations", "/origins/"]],
  ["client", ["/clients", "/origins"]],
  ["operator", ["/operators", "/session"]],
  ["site", ["/sites"]],
  ["agent_skill", ["/sites/"]],
  ["session", []],
  ["bootstrap", ["/bootstrap", "/operators"]],
]);

const OF_ORIGIN = /^\/origins\/[^/]+\/(?:release|releases|verdicts|impact)\b/;

/** Whether what was read from a path may be another thing after a change. */
export function isTouched(path: string, change: Change): boolean {
  if (change === null || !path.startsWith("/")) return true;
  switch (change.type) {
    case "usage":
      return path.startsWith("/usage");
    case "discovery":
      return path.startsWith("/health") || OF_ORIGIN.test(path);
    case "audit": {
      const touched = BY_ACTION.get(change.action.split(".")[0] ?? "");
      // An action that this console does not know, as that of a newer gateway, may have changed anything.
      return touched === undefined || path.startsWith("/audit") || touched.some((begin) => path.startsWith(begin));
    }
  }
}

/** An event of the gateway's stream. @param data as it came. */
export function changeOf(type: string, data: string): Change {
  if (type === "usage" || type === "discovery") return { type };
  if (type !== "audit") return null;
  try {
    const { action } = JSON.parse(data) as { readonly action?: unknown };
    return typeof action === "string" ? { type, action } : null;
  } catch {
    return null;
  }
}

/** However much happens, a path is read again at most this often. The state of health asks every origin's hub, and usage adds up hours of all clients. */
export function restAfter(path: string): number {
  if (path.startsWith("/usage")) return 20_000;
  return path.startsWith("/health") ? 30_000 : 1_000;
}
