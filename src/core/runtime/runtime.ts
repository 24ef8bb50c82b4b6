import type { Catalog } from "../catalog.ts";
import type { UnverifiedRecipes } from "../discovery/release.ts";
import {
  DEFAULT_DISCOVERY_LIMITS,
  DEFAULT_SANDBOX_LIMITS,
  type DiscoveryLimits,
  type SandboxLimits,
} from "../limits.ts";
import type { Provider } from "../mcp/provider.ts";
import { MemoryIndexes } from "../memory/memory-indexes.ts";
import type { CanonicalOrigin } from "../origin.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { createProvider, type ProviderOptions } from "../serve.ts";
import { servedRecipes } from "../serve-recipes.ts";
import { VERSION } from "../version.ts";
import { combineProviders } from "./combined-provider.ts";
import { type CheckPins, OriginRuntime, type RequiredAttestations, type RuntimeOrigin } from "./origin-runtime.ts";
import type { OriginStatus, RuntimeEvent } from "./origin-status.ts";
import { toolPrefixes } from "./tool-prefixes.ts";
import { OriginsUnavailable } from "./unavailable.ts";

export interface RuntimeOptions {
  /** At least one, each once. */
  readonly origins: readonly RuntimeOrigin[];
  readonly sandbox: Pick<Sandbox, "load" | "evaluate" | "call">;
  /** `null` or absent: attestations are not looked at. */
  readonly attestations?: RequiredAttestations | null;
  readonly checkPins?: CheckPins;
  readonly discoveryLimits?: DiscoveryLimits;
  readonly sandboxLimits?: SandboxLimits;
  readonly unverifiedRecipes?: UnverifiedRecipes;
  readonly serverInfo?: Provider["serverInfo"];
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Must not throw. */
  onEvent?(event: RuntimeEvent): void;
  onCall?: ProviderOptions["onCall"];
}

const SERVER_INFO = { name: "skillgate", title: "Skillgate", version: VERSION } as const;

/**
 * The skills of one or more origins for whoever runs Skillgate for themselves: discovers them, admits all that verify (and are attested and
 * as pinned, where that is asked for), and serves them. There are no clients and no operator: pointing a runtime at an origin is the consent.
 *
 * An origin is looked at when the runtime starts and whenever {@link refresh} is called; when it fails, what was discovered last stays. With one
 * origin, tools have their own names; with several, each has its origin's prefix (`toolPrefixes`).
 *
 * @example
 * const runtime = await Runtime.create({ origins: [{ origin, fetch }], sandbox });
 * await runtime.start();
 * const provider = await runtime.provide();
 * await provider.callTool("sum_numbers", { a: 40, b: 2 }, context);
 * runtime.close();
 */
export class Runtime {
  /** What tools are prefixed with; empty where there is one origin. */
  readonly prefixes: ReadonlyMap<CanonicalOrigin, string>;
  readonly serverInfo: Provider["serverInfo"];
  readonly #options: RuntimeOptions;
  readonly #origins: readonly OriginRuntime[];
  readonly #memories = new MemoryIndexes();
  readonly #closing = new AbortController();
  #starting: Promise<void> | null = null;
  #combined: { readonly of: readonly Catalog[]; readonly provider: Promise<Provider> } | null = null;
  /** The lists as they were last told of; `null` before the first discovery has ended. */
  #shown: string | null = null;

  private constructor(options: RuntimeOptions, prefixes: ReadonlyMap<CanonicalOrigin, string>) {
    this.#options = options;
    this.prefixes = prefixes;
    this.serverInfo = options.serverInfo ?? SERVER_INFO;
    const { sandbox, unverifiedRecipes, attestations = null, checkPins, now = Date.now } = options;
    this.#origins = options.origins.map(
      (origin) =>
        new OriginRuntime(origin, {
          sandbox,
          limits: options.discoveryLimits ?? DEFAULT_DISCOVERY_LIMITS,
          now,
          attestations,
          checkPins,
          ...(options.sandboxLimits === undefined ? {} : { loadGas: options.sandboxLimits.loadGas }),
          ...(unverifiedRecipes === undefined ? {} : { unverifiedRecipes }),
          onEvent: (event) => options.onEvent?.(event),
        }),
    );
  }

  static async create(options: RuntimeOptions): Promise<Runtime> {
    const origins = options.origins.map(({ origin }) => origin);
    return new Runtime(options, origins.length > 1 ? await toolPrefixes(origins) : new Map());
  }

  /** In the order in which the origins were given. */
  get statuses(): readonly OriginStatus[] {
    return this.#origins.map(({ status }) => status);
  }

  /** What may be used of each origin that has something. */
  get catalogs(): readonly Catalog[] {
    return this.#origins.flatMap(({ catalog }) => catalog ?? []);
  }

  /** Looks at every origin for the first time. Asked again, it waits for the same. Never rejects. */
  start(): Promise<void> {
    this.#starting ??= this.#look(this.#origins);
    return this.#starting;
  }

  /** Looks at origins again, by default at all of them. Never rejects; `statuses` say how it went. */
  async refresh(only?: ReadonlySet<CanonicalOrigin>): Promise<void> {
    await this.start();
    await this.#look(this.#origins.filter(({ origin }) => only === undefined || only.has(origin)));
  }

  /**
   * What is served at this moment, once the first look at the origins has ended.
   *
   * @throws {OriginsUnavailable} where no origin has anything to serve.
   */
  async provide(): Promise<Provider> {
    await this.start();
    if (this.#closing.signal.aborted) throw new OriginsUnavailable("closed", "This runtime was closed.");
    const catalogs = this.catalogs.filter(({ skills }) => skills.length > 0);
    const [first] = catalogs;
    if (first === undefined) throw this.#unavailable();
    return this.prefixes.size === 0 ? this.#provider(first) : this.#combine(catalogs);
  }

  /** Ends what is under way; nothing is served from then on. Calls that run are their callers' to cancel. */
  close(): void {
    this.#closing.abort();
    for (const origin of this.#origins) origin.close();
  }

  async #look(origins: readonly OriginRuntime[]): Promise<void> {
    await Promise.all(origins.map((origin) => origin.refresh()));
    if (this.#closing.signal.aborted) return;
    const shown = await this.#lists();
    const isChanged = this.#shown !== null && this.#shown !== shown;
    this.#shown = shown;
    if (isChanged) this.#options.onEvent?.({ kind: "list_changed" });
  }

  async #lists(): Promise<string> {
    const catalogs = this.catalogs.filter(({ skills }) => skills.length > 0);
    const lists = catalogs.map((catalog) => {
      const { tools, resources } = this.#provider(catalog);
      return [catalog.origin, tools, resources];
    });
    return JSON.stringify(lists);
  }

  #provider(catalog: Catalog): Provider {
    const { sandbox, sandboxLimits = DEFAULT_SANDBOX_LIMITS, unverifiedRecipes, onCall } = this.#options;
    const { fetch } = this.#origins.find(({ origin }) => origin === catalog.origin) as OriginRuntime;
    return createProvider(catalog, {
      sandbox,
      fetch,
      limits: sandboxLimits,
      memories: this.#memories,
      serverInfo: this.serverInfo,
      ...(unverifiedRecipes === undefined ? {} : { unverifiedRecipes }),
      ...(onCall === undefined ? {} : { onCall }),
    });
  }

  #combine(catalogs: readonly Catalog[]): Promise<Provider> {
    const known = this.#combined;
    if (known?.of.length === catalogs.length && known.of.every((catalog, index) => catalog === catalogs[index])) {
      return known.provider;
    }
    const parts = catalogs.map((catalog) => ({
      prefix: this.prefixes.get(catalog.origin) ?? "",
      provider: this.#provider(catalog),
      recipes: servedRecipes(catalog, this.#options.unverifiedRecipes ?? "withhold"),
    }));
    const [{ provider: first }] = parts as [(typeof parts)[number]];
    const provider = combineProviders(parts, first);
    this.#combined = { of: catalogs, provider };
    return provider;
  }

  #unavailable(): OriginsUnavailable {
    const failed = this.statuses.find(({ state }) => state === "failed");
    const code = failed?.state === "failed" ? failed.failure.code : "no_skills";
    return new OriginsUnavailable(code, this.statuses.map(reasonOf).join(" "));
  }
}

const SHOWN_REASONS = 5;

/** Why an origin has nothing to serve. */
function reasonOf(status: OriginStatus): string {
  const { origin } = status;
  if (status.state !== "discovered") {
    const message = status.state === "failed" ? status.failure.message : "It has not been looked at.";
    return `Nothing could be discovered at ${origin}: ${message}`;
  }
  const reasons = [
    ...status.refused.map(({ name, code }) => `${name} (${code})`),
    ...status.release.rejected
      .filter(({ subject }) => subject === "skill")
      .map(({ name, code }) => `${name} (${code})`),
  ];
  const shown = reasons.slice(0, SHOWN_REASONS).join(", ");
  const more = reasons.length > SHOWN_REASONS ? ` and ${reasons.length - SHOWN_REASONS} more` : "";
  return `None of the skills of ${origin} may be used: ${shown}${more}.`;
}
