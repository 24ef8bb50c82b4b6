import type { DiscoveryProgress } from "../../core/discovery/progress.ts";
import type { Rejection } from "../../core/discovery/release.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import type { OriginStatus, RefusedSkill, RuntimeEvent } from "../../core/runtime/origin-status.ts";
import { toPublicName } from "../../core/skill.ts";
import { printable } from "../terminal.ts";

type Level = "info" | "warning" | "error";

/** What is told of one thing that happened. Everything in it that a publisher wrote is made fit for a terminal when it is shown. */
interface Told {
  readonly level: Level;
  readonly event: string;
  readonly message: string;
  readonly fields?: Readonly<Record<string, string | number | null>>;
}

export interface NarrationOptions {
  /** Takes one line. */
  readonly report: (line: string) => void;
  /** One JSON object a line, for machines. */
  readonly isJson: boolean;
  readonly isColored: boolean;
  /** Tells of each fetch and each hash, too. */
  readonly isVerbose: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const COLORS: Readonly<Record<Level, string>> = { info: "\u001b[2m", warning: "\u001b[33m", error: "\u001b[31m" };
const PLAIN = "\u001b[0m";
const SHOWN_NAMES = 12;

/** Tells a person, or a program, what a runtime does. What is rejected is told once, and again only when it is something else. */
export class Narration {
  readonly #options: NarrationOptions;
  readonly #lastTold = new Map<CanonicalOrigin, string>();

  constructor(options: NarrationOptions) {
    this.#options = options;
  }

  tell(level: Level, event: string, message: string, fields: Told["fields"] = {}): void {
    const { report, isJson, isColored, now } = this.#options;
    if (isJson) {
      report(JSON.stringify({ time: new Date(now()).toISOString(), level, event, message, ...fields }));
      return;
    }
    const mark = level === "info" ? "" : `${level}: `;
    const text = `skillgate: ${mark}${printable(message)}`;
    report(isColored ? `${COLORS[level]}${text}${PLAIN}` : text);
  }

  /** Follows a runtime. */
  readonly hear = (event: RuntimeEvent): void => {
    switch (event.kind) {
      case "discovering":
        if (!this.#lastTold.has(event.origin)) {
          this.tell("info", "discovering", `discovering ${event.origin}`, { origin: event.origin });
        }
        break;
      case "progress":
        if (this.#options.isVerbose) this.#progress(event.origin, event.progress);
        break;
      case "discovered":
        this.#discovered(event);
        break;
      case "failed":
        this.#failed(event);
        break;
      case "served_without":
        for (const origin of event.origins) {
          const message = `${origin} has not answered yet: the others are served without it, and it is added when it has`;
          this.tell("warning", "served_without", message, { origin });
        }
        break;
      case "list_changed":
        this.tell("info", "list_changed", "what is offered has changed; the client is told");
    }
  };

  #discovered({ status, served, recipes, memories, ms }: Extract<RuntimeEvent, { kind: "discovered" }>): void {
    const { origin, release, refused } = status;
    const lines: Told[] = [...release.rejected.map(ofRejection), ...refused.map(ofRefusal)];
    const counts = [
      counted(served.length, "tool"),
      counted(recipes, "recipe"),
      counted(memories, "memory", "memories"),
      ...(release.prose.length > 0 ? [counted(release.prose.length, "link for people", "links for people")] : []),
    ];
    const names = served.length === 0 ? "" : ` (${listed(served)})`;
    const what = `${origin} offers ${counts.join(", ")}${names}`;
    const text = JSON.stringify([what, lines]);
    if (this.#lastTold.get(origin) === text) return;
    this.#lastTold.set(origin, text);
    for (const { level, event, message, fields } of lines) this.tell(level, event, message, { origin, ...fields });
    const level = served.length === 0 ? "error" : "info";
    const fields = { origin, tools: served.length, recipes, memories, ms: Math.round(ms) };
    this.tell(level, "discovered", `${what}, after ${Math.round(ms)} ms`, fields);
  }

  #failed({ status, failure }: Extract<RuntimeEvent, { kind: "failed" }>): void {
    const { origin } = status;
    const text = JSON.stringify([status.state, failure.message]);
    if (this.#lastTold.get(origin) === text) return;
    this.#lastTold.set(origin, text);
    for (const each of failure.rejected.map(ofRejection)) {
      this.tell(each.level, each.event, each.message, { origin, ...each.fields });
    }
    const message = `${origin} could not be discovered: ${failure.message} ${consequence(status)}`;
    this.tell("error", "discovery_failed", message, { origin, code: failure.code, reason: failure.reason });
  }

  #progress(origin: CanonicalOrigin, progress: DiscoveryProgress): void {
    if (progress.kind === "fetch") {
      const { url, status, bytes, ms, code } = progress;
      const message = `fetched ${url}: ${code ?? `${status}, ${bytes} bytes`}, ${Math.round(ms)} ms`;
      this.tell("info", "fetch", message, { origin, url, status, bytes, code });
    } else {
      const { file, ok, expected, actual, name } = progress;
      const message = `${file} of ${name === "" ? origin : name}: SHA-256 ${actual} ${ok ? "as declared" : `instead of ${expected}`}`;
      this.tell(ok ? "info" : "warning", "hash", message, { origin, file, expected, actual });
    }
  }
}

function ofRejection({ subject, scope, name, code, message }: Rejection): Told {
  const of = name === "" ? (scope === null ? "" : ` of scope ${scope}`) : ` ${toPublicName({ scope, name })}`;
  return {
    level: "warning",
    event: "rejected",
    message: `rejected the ${subject}${of}: ${code}: ${message}`,
    fields: { subject, scope, name, code },
  };
}

function ofRefusal({ scope, name, code, message, toolSha256 }: RefusedSkill): Told {
  return {
    level: code.startsWith("pin") ? "error" : "warning",
    event: "refused",
    message: `refused the skill ${toPublicName({ scope, name })}: ${code}: ${message}`,
    fields: { scope, name, code, tool_sha256: toolSha256 },
  };
}

function consequence({ state }: OriginStatus): string {
  return state === "discovered" ? "What was discovered last is still served." : "It is tried again in the background.";
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).join(", ");
  return names.length > SHOWN_NAMES ? `${shown} and ${names.length - SHOWN_NAMES} more` : shown;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
