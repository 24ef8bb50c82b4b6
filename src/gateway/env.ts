import { z } from "zod";
import type { UnverifiedRecipes } from "../core/discovery/release.ts";
import {
  DEFAULT_DISCOVERY_LIMITS,
  DEFAULT_SANDBOX_LIMITS,
  type DiscoveryLimits,
  type SandboxLimits,
} from "../core/limits.ts";
import { parseOrigin } from "../core/origin.ts";
import { jspiApi } from "../core/sandbox/engine.ts";
import type { AuditHead } from "./durable/audit-head.ts";
import type { LiveFeed } from "./durable/live-feed.ts";
import type { MetricsStore } from "./durable/metrics-store.ts";
import type { Notifier } from "./durable/notifier.ts";
import type { OriginHub } from "./durable/origin-hub.ts";
import type { RateLimiter } from "./durable/rate-limiter.ts";

/** What the platform gives the Worker (wrangler.toml). Everything else in the environment is a setting, see {@link readSettings}. */
export interface Env {
  readonly DB: D1Database;
  readonly RATE_LIMITER: DurableObjectNamespace<RateLimiter>;
  readonly METRICS: DurableObjectNamespace<MetricsStore>;
  readonly AUDIT_HEAD: DurableObjectNamespace<AuditHead>;
  readonly ORIGIN_HUB: DurableObjectNamespace<OriginHub>;
  readonly LIVE_FEED: DurableObjectNamespace<LiveFeed>;
  readonly NOTIFIER: DurableObjectNamespace<Notifier>;
  /** Where it is bound, gets a point for every call beside what `usage_hourly` sums up. */
  readonly USAGE?: AnalyticsEngineDataset;
  /** Bytes of the sites that this gateway hosts, by site and digest. */
  readonly SITES: R2Bucket;
  /** The files of the operators' console. */
  readonly ASSETS: Fetcher;
  readonly [setting: string]: unknown;
}

/** The settings of a deployment, parsed and checked. */
export interface Settings {
  /** What a missing or failing attestation means for origins without a mode of their own. */
  readonly attestationMode: "off" | "advisory" | "enforcing";
  /** Recipes whose hash nobody declares are left out, or offered with a warning. */
  readonly unverifiedRecipes: UnverifiedRecipes;
  /** Clients may open streams on which they are told that lists changed. */
  readonly notifications: boolean;
  readonly sandboxEngine: "auto" | "jspi" | "asyncify";
  readonly discovery: DiscoveryLimits;
  readonly sandbox: SandboxLimits;
  /** Largest request body, bytes. */
  readonly maxBodyBytes: number;
  /** How long the last known good release is served while its origin fails, milliseconds. */
  readonly staleIfErrorMs: number;
  /** Failed authentications a minute that one address may make before it is answered 429. */
  readonly authFailuresPerMinute: number;
  /** Answers to requests with `X-Gw-Operator: <operator's token>` tell how long their steps took (`Server-Timing`). */
  readonly serverTiming: boolean;
  /** Gas that one client's tools may use a minute in one isolate before its further calls are answered 429. */
  readonly clientGasPerMinute: number;
  /** `http://` origins on loopback addresses may be registered and called: for development. */
  readonly allowLoopbackOrigins: boolean;
  /** Web origins whose pages may call the gateway. */
  readonly allowedBrowserOrigins: ReadonlySet<string>;
  /** The gateway's own hosts (`host[:port]`), never a publisher. */
  readonly publicHosts: readonly string[];
  /** The only host (`host[:port]`) that answers `/admin`; `null`: every one. */
  readonly adminHost: string | null;
  /** Web origins of publishers that are Workers of the same account, each with the name of the service binding that reaches it. */
  readonly serviceOrigins: ReadonlyMap<string, string>;
  /** The bootstrap operator's secret; `null`: there is none. */
  readonly adminToken: string | null;
  /** Cloudflare Access before the admin API, whose JWTs let operators in; `null`: there is none. */
  readonly access: { readonly teamDomain: string; readonly audience: string } | null;
}

/** A setting that does not say what it should. */
export interface BadSetting {
  readonly name: string;
  /** One English sentence that names the setting and what it may be; never its value, which could be a misplaced secret. */
  readonly message: string;
}

export type SettingsResult =
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly problems: readonly [BadSetting, ...BadSetting[]] };

const MAX_INTEGER = 2 ** 31 - 1;

/** A decimal integer, as a number or as text without sign, spaces, exponent or leading zeros. */
function integer(fallback: number, min: number, max = MAX_INTEGER) {
  const sentence = `must be a whole number from ${min} to ${max}`;
  return z
    .union(
      [
        z.number(),
        z
          .string()
          .regex(/^(0|[1-9]\d{0,9})$/)
          .transform(Number),
      ],
      { error: sentence },
    )
    .refine((value) => Number.isInteger(value) && value >= min && value <= max, { error: sentence })
    .default(fallback);
}

function oneOf<const T extends readonly [string, ...string[]]>(values: T, fallback: T[number]) {
  return z.enum(values, { error: `must be one of ${values.join(", ")}` }).default(fallback as never);
}

/** `host` or `host:port`, lower case, as URLs write it: a default port would never match. */
export const HOST = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(?!(?:80|443)$)[1-9]\d{0,4})?$/;

/** Keys are fetched from there: nothing but a host of Cloudflare Access may be named. */
const TEAM_DOMAIN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.cloudflareaccess\.com$/;

function list(isItem: (item: string) => boolean, sentence: string) {
  return z
    .string({ error: sentence })
    .default("")
    .transform((text) =>
      text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== ""),
    )
    .refine((items) => items.every(isItem), { error: sentence });
}

/** `scheme://host[:port]` exactly as a browser writes it in its `Origin` header. */
function isWebOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** `https://host[:port]=BINDING`: a publisher's canonical origin without a base path, and a name of wrangler.toml. */
function isServiceOrigin(item: string): boolean {
  const [origin = "", binding = "", ...rest] = item.split("=");
  if (rest.length > 0 || !/^[A-Za-z_]\w{0,127}$/.test(binding)) return false;
  try {
    // A binding leads to a Worker, which answers for a whole host.
    return (
      parseOrigin(origin, { allowLoopbackHttp: true, ownHosts: [] }) === origin && new URL(origin).origin === origin
    );
  } catch {
    return false;
  }
}

const SERVICE_ORIGINS_SENTENCE =
  "must be a comma-separated list such as https://publisher.example=BINDING, each origin canonical, without a path, and named once";

const D = DEFAULT_DISCOVERY_LIMITS;
const S = DEFAULT_SANDBOX_LIMITS;
const WASM_PAGE = 65_536;

/** Every setting by its name in the environment. Budgets and their defaults: src/core/limits.ts. */
const SETTINGS = z.object({
  ATTESTATION_MODE: oneOf(["off", "advisory", "enforcing"], "advisory"),
  UNVERIFIED_RECIPES: oneOf(["withhold", "offer"], "withhold"),
  NOTIFICATIONS: oneOf(["on", "off"], "on"),
  SANDBOX_ENGINE: oneOf(["auto", "jspi", "asyncify"], "auto"),
  SERVER_TIMING: oneOf(["true", "false"], "false"),
  ALLOW_LOOPBACK_ORIGINS: oneOf(["true", "false"], "false"),
  ALLOWED_BROWSER_ORIGINS: list(
    isWebOrigin,
    "must be a comma-separated list of web origins such as https://app.example",
  ),
  PUBLIC_HOSTS: list(
    (item) => HOST.test(item),
    "must be a comma-separated list of lower-case hosts such as gate.example",
  ),
  SERVICE_ORIGINS: list(isServiceOrigin, SERVICE_ORIGINS_SENTENCE)
    .transform((items) => items.map((item) => item.split("=") as [string, string]))
    .refine((pairs) => new Set(pairs.map(([origin]) => origin)).size === pairs.length, {
      error: SERVICE_ORIGINS_SENTENCE,
    })
    .transform((pairs) => new Map(pairs)),
  ADMIN_HOST: z
    .string()
    .refine((text) => text === "" || HOST.test(text), { error: "must be one lower-case host such as admin.example" })
    .default(""),
  ADMIN_TOKEN: z
    .string()
    .refine((text) => text === "" || /^[\x21-\x7e]{16,512}$/.test(text), {
      error: "must be 16 to 512 visible ASCII characters",
    })
    .default(""),
  ACCESS_TEAM_DOMAIN: z
    .string()
    .refine((text) => text === "" || TEAM_DOMAIN.test(text), {
      error: "must be the host of an Access team such as team.cloudflareaccess.com",
    })
    .default(""),
  ACCESS_AUD: z
    .string()
    .refine((text) => text === "" || /^[0-9a-f]{64}$/.test(text), {
      error: "must be an application's AUD tag, 64 lower-case hexadecimal digits",
    })
    .default(""),
  STALE_IF_ERROR_S: integer(86_400, 0, 30 * 86_400),
  AUTH_FAILURES_PER_MINUTE: integer(120, 1, 1_000_000),
  CLIENT_GAS_PER_MINUTE: integer(2_000_000_000, 1),
  MAX_BODY_BYTES: integer(1_048_576, 1, 16 * 1_048_576),

  MAX_LLMS_BYTES: integer(D.llmsTxtBytes, 1),
  MAX_INDEX_BYTES: integer(D.indexBytes, 1),
  MAX_SKILLMD_BYTES: integer(D.recipeBytes, 1),
  MAX_ATTESTATIONS_BYTES: integer(D.attestationsBytes, 1),
  MAX_TOOL_BYTES: integer(D.toolBytes, 1),
  MAX_SNAPSHOT_BYTES: integer(D.snapshotBytes, 1),
  MAX_SKILLS: integer(D.skills, 1),
  MAX_MEMORIES: integer(D.memories, 0),
  MAX_MEMORY_BYTES: integer(D.memoryBytes, 0),
  // A release travels between isolates in one message, which the platform caps at 32 MiB.
  MAX_RELEASE_BYTES: integer(D.releaseBytes, 1, 24 * 1_048_576),
  MAX_REDIRECTS: integer(D.redirects, 0, 20),
  DISCOVERY_TIMEOUT_MS: integer(D.deadlineMs, 1, 60_000),
  DISCOVERY_FETCH_TIMEOUT_MS: integer(D.fetchTimeoutMs, 1, 60_000),
  DISCOVERY_CONCURRENCY: integer(D.concurrency, 1, 6),
  DISCOVERY_GAS: integer(D.gas, 1),

  WASM_POOL_SIZE: integer(S.poolSize, 1, 256),
  POOL_WAIT_MS: integer(S.poolWaitMs, 0, 60_000),
  POOL_MEMORY_BYTES: integer(S.poolMemoryBytes, 1_048_576),
  KEEP_INSTANCE_BYTES: integer(S.keepInstanceBytes, 1_048_576),
  GUEST_MEMORY_BYTES: integer(S.guestMemoryBytes, 262_144),
  LINEAR_MEMORY_BYTES: integer(S.linearMemoryBytes, 32 * WASM_PAGE),
  GUEST_STACK_BYTES: integer(S.guestStackBytes, 16_384, 262_144),
  CALL_GAS: integer(S.callGas, 1),
  LOAD_GAS: integer(S.loadGas, 1),
  GAS_EXHAUSTIONS_PER_MINUTE: integer(S.gasExhaustionsPerMinute, 1, 1_000),
  CALL_TIMEOUT_MS: integer(S.callTimeoutMs, 1, 300_000),
  MAX_IMAGE_BYTES: integer(S.imageBytes, 1),
  IMAGE_CACHE_BYTES: integer(S.imageCacheBytes, 0),
  MAX_RESULT_BYTES: integer(S.resultBytes, 1),
  MAX_DEFINITION_BYTES: integer(S.definitionBytes, 1),
  MAX_FETCH_CALLS: integer(S.fetchCalls, 0),
  FETCH_TIMEOUT_MS: integer(S.fetchTimeoutMs, 1, 60_000),
  MAX_FETCH_REQUEST_BYTES: integer(S.fetchRequestBytes, 0),
  MAX_RESPONSE_BYTES: integer(S.fetchResponseBytes, 1, 1_048_576),
  MAX_MEMORY_SEARCH_CALLS: integer(S.memorySearchCalls, 0),
  MAX_MEMORY_QUERY_BYTES: integer(S.memorySearchQueryBytes, 1),
});

/** The names of all settings. */
export const SETTING_NAMES: readonly string[] = Object.keys(SETTINGS.shape);

/** Settings whose values nobody is shown. */
const SECRETS: ReadonlySet<string> = new Set(["ADMIN_TOKEN"]);

/** Every setting as it stands, in order of name; of a secret whether it is set. Only of an environment that is understood. */
export function effectiveSettings(env: Env): { name: string; value: string | number; isDefault: boolean }[] {
  return Object.entries(SETTINGS.shape)
    .map(([name, schema]) => {
      const given = env[name];
      const value = given ?? asGiven(schema.parse(undefined));
      if (SECRETS.has(name)) return { name, value: value === "" ? "" : "set", isDefault: value === "" };
      return { name, value: typeof value === "number" ? value : String(value), isDefault: given === undefined };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A default as it would stand in wrangler.toml. Lists are empty by default. */
function asGiven(value: unknown): string | number {
  return typeof value === "string" || typeof value === "number" ? value : "";
}

const parsed = new WeakMap<object, SettingsResult>();

/**
 * Reads and checks every setting, once an environment. A value that is not understood is never replaced by a default: the result then
 * lists each such setting, and the gateway answers 503 `bad_setting`.
 */
export function readSettings(env: Env): SettingsResult {
  let result = parsed.get(env);
  if (result === undefined) {
    result = parseSettings(env);
    parsed.set(env, result);
  }
  return result;
}

function parseSettings(env: Env): SettingsResult {
  const answer = SETTINGS.safeParse(Object.fromEntries(SETTING_NAMES.map((name) => [name, env[name]])));
  if (!answer.success) {
    const problems = answer.error.issues.map((issue) => badSetting(String(issue.path[0]), issue.message));
    return { ok: false, problems: problems as [BadSetting, ...BadSetting[]] };
  }
  const value = answer.data;
  if (value.SANDBOX_ENGINE === "jspi" && jspiApi() === null) {
    return { ok: false, problems: [badSetting("SANDBOX_ENGINE", "must not be jspi on a platform without it")] };
  }
  if ((value.ACCESS_TEAM_DOMAIN === "") !== (value.ACCESS_AUD === "")) {
    const missing = value.ACCESS_AUD === "" ? "ACCESS_AUD" : "ACCESS_TEAM_DOMAIN";
    return { ok: false, problems: [badSetting(missing, "must be set, since the other of the two is")] };
  }
  for (const binding of value.SERVICE_ORIGINS.values()) {
    if (!isService(env[binding])) {
      return { ok: false, problems: [badSetting("SERVICE_ORIGINS", "must name only service bindings that exist")] };
    }
  }
  return {
    ok: true,
    settings: {
      attestationMode: value.ATTESTATION_MODE,
      unverifiedRecipes: value.UNVERIFIED_RECIPES,
      notifications: value.NOTIFICATIONS === "on",
      sandboxEngine: value.SANDBOX_ENGINE,
      maxBodyBytes: value.MAX_BODY_BYTES,
      staleIfErrorMs: value.STALE_IF_ERROR_S * 1000,
      authFailuresPerMinute: value.AUTH_FAILURES_PER_MINUTE,
      serverTiming: value.SERVER_TIMING === "true",
      clientGasPerMinute: value.CLIENT_GAS_PER_MINUTE,
      allowLoopbackOrigins: value.ALLOW_LOOPBACK_ORIGINS === "true",
      allowedBrowserOrigins: new Set(value.ALLOWED_BROWSER_ORIGINS),
      publicHosts: value.PUBLIC_HOSTS,
      adminHost: value.ADMIN_HOST === "" ? null : value.ADMIN_HOST,
      serviceOrigins: value.SERVICE_ORIGINS,
      adminToken: value.ADMIN_TOKEN === "" ? null : value.ADMIN_TOKEN,
      access: value.ACCESS_AUD === "" ? null : { teamDomain: value.ACCESS_TEAM_DOMAIN, audience: value.ACCESS_AUD },
      discovery: {
        llmsTxtBytes: value.MAX_LLMS_BYTES,
        indexBytes: value.MAX_INDEX_BYTES,
        recipeBytes: value.MAX_SKILLMD_BYTES,
        attestationsBytes: value.MAX_ATTESTATIONS_BYTES,
        toolBytes: value.MAX_TOOL_BYTES,
        snapshotBytes: value.MAX_SNAPSHOT_BYTES,
        skills: value.MAX_SKILLS,
        memories: value.MAX_MEMORIES,
        memoryBytes: value.MAX_MEMORY_BYTES,
        releaseBytes: value.MAX_RELEASE_BYTES,
        deadlineMs: value.DISCOVERY_TIMEOUT_MS,
        fetchTimeoutMs: value.DISCOVERY_FETCH_TIMEOUT_MS,
        concurrency: value.DISCOVERY_CONCURRENCY,
        redirects: value.MAX_REDIRECTS,
        gas: value.DISCOVERY_GAS,
      },
      sandbox: {
        guestMemoryBytes: value.GUEST_MEMORY_BYTES,
        linearMemoryBytes: value.LINEAR_MEMORY_BYTES,
        guestStackBytes: value.GUEST_STACK_BYTES,
        callGas: value.CALL_GAS,
        loadGas: value.LOAD_GAS,
        gasExhaustionsPerMinute: value.GAS_EXHAUSTIONS_PER_MINUTE,
        imageBytes: value.MAX_IMAGE_BYTES,
        imageCacheBytes: value.IMAGE_CACHE_BYTES,
        callTimeoutMs: value.CALL_TIMEOUT_MS,
        resultBytes: value.MAX_RESULT_BYTES,
        definitionBytes: value.MAX_DEFINITION_BYTES,
        fetchCalls: value.MAX_FETCH_CALLS,
        fetchTimeoutMs: value.FETCH_TIMEOUT_MS,
        fetchRequestBytes: value.MAX_FETCH_REQUEST_BYTES,
        fetchResponseBytes: value.MAX_RESPONSE_BYTES,
        memorySearchCalls: value.MAX_MEMORY_SEARCH_CALLS,
        memorySearchQueryBytes: value.MAX_MEMORY_QUERY_BYTES,
        poolSize: value.WASM_POOL_SIZE,
        poolWaitMs: value.POOL_WAIT_MS,
        poolMemoryBytes: value.POOL_MEMORY_BYTES,
        keepInstanceBytes: value.KEEP_INSTANCE_BYTES,
      },
    },
  };
}

/** Whether a binding is a Worker that can be asked. */
export function isService(binding: unknown): binding is Fetcher {
  return typeof binding === "object" && binding !== null && "fetch" in binding && typeof binding.fetch === "function";
}

function badSetting(name: string, rule: string): BadSetting {
  return { name, message: `The setting ${name} ${rule}.` };
}
