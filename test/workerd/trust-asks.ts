import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, vi } from "vitest";
import type { Release } from "../../src/core/discovery/release.ts";
import { NO_INDEX } from "../../src/core/discovery/skills-index.ts";
import type { CanonicalOrigin } from "../../src/core/origin.ts";
import { forgetHeldReleases } from "../../src/gateway/durable/held-release.ts";
import { ColoCache } from "../../src/gateway/releases/colo-cache.ts";
import { releases } from "../../src/gateway/releases/release-cache.ts";
import { env, hubHasWritten, send } from "./gateway-fixture.ts";
import type { Published } from "./trust-fixture.ts";

// How the tests of what is decided ask, wait and lose what was kept.

/** A skill of one name; its tool answers this. */
export const skill = (answer: string, fields: Partial<Published> = {}): Published => ({
  name: "s",
  scope: null,
  answer,
  ...fields,
});

const ADMIN_TOKEN = "trust-admin-token-0123";

/** Asks the admin API. */
// biome-ignore lint/suspicious/noExplicitAny: tests read whatever the answer holds.
export async function api(method: string, path: string, body?: object): Promise<any> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, "Content-Type": "application/json" };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const answer = await send(`/admin/api/v1${path}`, init, { ADMIN_TOKEN });
  expect(answer.status).toBeLessThan(300);
  return answer.status === 204 ? null : answer.json();
}

export const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
export const header = (answer: Response) => answer.headers.get("X-Gw-Attestations");
export const refusal = async (answer: Response) => {
  const { error } = (await answer.json()) as { error?: { message: string; data?: { code: string } } };
  return [answer.status, error?.data?.code, error?.message];
};
export const ENFORCING = { ATTESTATION_MODE: "enforcing" };

export const state = (answer: Response) => [answer.status, answer.headers.get("X-Gw-Discovery")];

export async function forgetColo(origin: string): Promise<void> {
  await new ColoCache().forget(origin as never);
}

/** A database that never answers what names a table. */
export function silentAbout(table: string): D1Database {
  const never = () => new Promise(() => {});
  const silent = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get: (target, key) => (key === "bind" ? (...values: unknown[]) => silent(target.bind(...values)) : never),
    });
  return new Proxy(env.DB, {
    get: (target, key) => {
      if (key === "prepare") {
        return (text: string) => {
          const statement = target.prepare(text);
          return text.includes(`"${table}"`) ? silent(statement) : statement;
        };
      }
      if (key === "batch") return never;
      const value = Reflect.get(target, key) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** What a discovery finds where the skill's code cannot be had. */
export function bareRelease(origin: CanonicalOrigin): Release {
  const rejected = [{ subject: "skill", code: "http_status", scope: null, name: "s", message: "-" }] as const;
  const nothing = { skills: [], prose: [], held: [], confirmed: [], facts: [], attestations: [], memories: [] };
  return { ...nothing, origin, fetchedAt: Date.now(), index: NO_INDEX, rejected };
}

/** Nothing is in memory any more, nor in the data centre's cache, and where that is wished nor in the hub's storage. */
export async function lose({ origin }: { readonly origin: string }, storage: boolean): Promise<void> {
  const stub = env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin));
  await hubHasWritten(origin);
  if (storage) {
    await runInDurableObject(stub, (_, state) => {
      state.storage.sql.exec("DELETE FROM chunks");
      state.storage.kv.delete("withdrawn");
    });
  }
  releases.clear();
  await forgetColo(origin);
  forgetHeldReleases();
  await evictDurableObject(stub);
}
