import type { DiscoveryProgress } from "../core/discovery/progress.ts";
import type { RuntimeEvent } from "../core/runtime/origin-status.ts";
import { toPublicName } from "../core/skill.ts";

export interface LogLine {
  readonly level: "info" | "good" | "bad";
  /** One line of English; names in it are the publisher's words. */
  readonly text: string;
}

/** An event of a runtime in words, for people who watch. */
export function logLines(event: RuntimeEvent): readonly LogLine[] {
  switch (event.kind) {
    case "discovering":
      return [info(`Discovering ${event.origin}`)];
    case "progress":
      return [progressLine(event.progress)];
    case "discovered": {
      const { release, refused } = event.status;
      return [
        ...release.rejected.map(({ subject, name, code, message }) =>
          bad(`Rejected ${subject}${name === "" ? "" : ` ${name}`} (${code}): ${message}`),
        ),
        ...refused.map((skill) => bad(`Refused ${toPublicName(skill)} (${skill.code}): ${skill.message}`)),
        ...event.served.map((name) => good(`Verified ${name}`)),
        info(`${event.served.length} of ${release.skills.length + release.rejected.length} found may be used.`),
      ];
    }
    case "failed":
      return [
        ...event.failure.rejected.map(({ subject, name, code, message }) =>
          bad(`Rejected ${subject} ${name} (${code}): ${message}`),
        ),
        bad(event.failure.message),
      ];
    case "served_without":
      return event.origins.map((origin) => info(`${origin} has not answered yet`));
    case "list_changed":
      return [info("The list of tools has changed.")];
  }
}

function progressLine(progress: DiscoveryProgress): LogLine {
  if (progress.kind === "fetch") {
    const { url, status, bytes, code } = progress;
    if (bytes !== null) return info(`Fetched ${url}: ${bytes} bytes`);
    return { level: status === 404 ? "info" : "bad", text: `No ${url}: ${status ?? code ?? "no answer"}` };
  }
  const { file, ok, expected, actual } = progress;
  const name = toPublicName(progress);
  return ok
    ? good(`SHA-256 of ${file} of ${name} is as declared: ${actual}`)
    : bad(`SHA-256 of ${file} of ${name} is ${actual}, but ${expected} is declared`);
}

function info(text: string): LogLine {
  return { level: "info", text };
}

function good(text: string): LogLine {
  return { level: "good", text };
}

function bad(text: string): LogLine {
  return { level: "bad", text };
}
