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
import { findMissing, type MissingTool } from "./missing-tool.ts";
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
  /** How long those that have been looked at wait for the others before they are served without them, milliseconds. Default: 1 s. */
  readonly patienceMs?: number;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Must not throw. */
  onEvent?(event: RuntimeEvent): void;
  onCall?: ProviderOptions["onCall"];
}

/** Any that answers at all has mostly been looked at by then, and a client that starts a server does not wait for long. */
const PATIENCE_MS = 1_000;

const SERVER_INFO = { name: "skillgate", title: "Skillgate", version: VERSION } as const;

/**
 * The skills of one or more origins for whoever runs Skillgate for themselves: discovers them, admits all that verify (and are attested and
 * as pinned, where that is asked for), and serves them. There are no clients and no operator: pointing a runtime at an origin is the consent.
 *
 * An origin is looked at when the runtime starts and whenever {@link refresh} is called; when it fails, what was discovered last stays. With one
 * origin, tools have their own names; with several, each has its origin's prefix (`toolPrefixes`), and one that is slow keeps the others waiting
 * for a moment only.
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
  /** The first look at each origin; `null` before the runtime has started. */
  #firstLooks: ReadonlyMap<OriginRuntime, Promise<void>> | null = null;
  /** Settles when something is served, or nothing can be. */
  readonly #opened: Promise<void>;
  #open: () => void = () => {};
  #combined: { readonly of: readonly Catalog[]; readonly provider: Promise<Provider> } | null = null;
  /** The lists as they were last told of; `null` before anything could be listed. */
  #shown: string | null = null;

  private constructor(options: RuntimeOptions, prefixes: ReadonlyMap<CanonicalOrigin, string>) {
    this.#options = options;
    this.prefixes = prefixes;
    this.serverInfo = options.serverInfo ?? SERVER_INFO;
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
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

  /**
   * Looks at every origin for the first time, and waits for those that are asked for, by default for all. Asked again, it waits for the same
   * looks. Never rejects.
   */
  async start(only?: ReadonlySet<CanonicalOrigin>): Promise<void> {
    const looks = this.#look();
    await Promise.all(this.#chosen(only).map((origin) => looks.get(origin)));
  }

  /** Looks at origins again, by default at all of them. Never rejects; `statuses` say how it went. */
  async refresh(only?: ReadonlySet<CanonicalOrigin>): Promise<void> {
    const looks = this.#look();
    await Promise.all(
      this.#chosen(only).map(async (origin) => {
        await looks.get(origin);
        await this.#lookAt(origin);
      }),
    );
  }

  /**
   * What is served at this moment, once the first look at the origins has ended, or `patienceMs` after the first of them has something to serve.
   *
   * @throws {OriginsUnavailable} where no origin has anything to serve.
   */
  async provide(): Promise<Provider> {
    this.#look();
    await this.#opened;
    if (this.#closing.signal.aborted) throw new OriginsUnavailable("closed", "This runtime was closed.");
    const catalogs = this.catalogs.filter(({ skills }) => skills.length > 0);
    const [first] = catalogs;
    if (first === undefined) throw this.#unavailable();
    return this.prefixes.size === 0 ? this.#provider(first) : this.#combine(catalogs);
  }

  /** Ends what is under way; nothing is served from then on. Calls that run are their callers' to cancel. */
  close(): void {
    this.#closing.abort();
    this.#open();
    for (const origin of this.#origins) origin.close();
  }

  #chosen(only?: ReadonlySet<CanonicalOrigin>): readonly OriginRuntime[] {
    return this.#origins.filter(({ origin }) => only === undefined || only.has(origin));
  }

  /** The first looks, which begin when anybody first asks for anything. */
  #look(): ReadonlyMap<OriginRuntime, Promise<void>> {
    this.#firstLooks ??= this.#begin();
    return this.#firstLooks;
  }

  #begin(): ReadonlyMap<OriginRuntime, Promise<void>> {
    const { patienceMs = PATIENCE_MS } = this.#options;
    let patience: ReturnType<typeof setTimeout> | null = null;
    const stop = () => {
      if (patience !== null) clearTimeout(patience);
    };
    const serve = () => {
      stop();
      this.#serve();
    };
    const look = async (origin: OriginRuntime) => {
      await this.#lookAt(origin);
      if ((origin.catalog?.skills.length ?? 0) > 0) patience ??= setTimeout(serve, patienceMs);
    };
    const looks = new Map(this.#origins.map((origin) => [origin, look(origin)]));
    void Promise.all(looks.values()).then(serve);
    void this.#opened.then(stop);
    return looks;
  }

  /** From now on there are lists that can change. */
  #serve(): void {
    if (this.#shown === null && !this.#closing.signal.aborted) {
      this.#shown = this.#lists();
      const late = this.statuses.flatMap(({ state, origin }) => (state === "discovering" ? origin : []));
      if (late.length > 0) this.#options.onEvent?.({ kind: "served_without", origins: late });
    }
    this.#open();
  }

  async #lookAt(origin: OriginRuntime): Promise<void> {
    await origin.refresh();
    if (this.#shown === null || this.#closing.signal.aborted) return;
    const shown = this.#lists();
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#options.onEvent?.({ kind: "list_changed" });
  }

  #lists(): string {
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
      // Origins compete for the sandboxes, whoever calls their tools.
      client: catalog.origin,
      whyMissing: this.#whyMissing,
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

  /** Why a tool that a client may know of is not served at this moment; `null` where nobody lists it. */
  missing(name: string): MissingTool | null {
    return findMissing(this.statuses, this.prefixes, name);
  }

  /** Only the code: the sentence may hold words of a publisher whose code was refused, and a model would read them. */
  readonly #whyMissing = (name: string): string | null => {
    const missing = this.missing(name);
    return missing === null ? null : `It is not served at this moment (${missing.code}).`;
  };

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
    const message = status.state === "failed" ? status.failure.message : "It has not been looked at to the end yet.";
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
