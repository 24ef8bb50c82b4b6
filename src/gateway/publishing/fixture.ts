import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { sha256Hex } from "../../core/integrity.ts";
import { call, testEnv } from "../admin/fixture.ts";
import { forgetPolicy } from "../auth/policy.ts";
import type { Env } from "../env.ts";
import worker from "../worker.ts";
import { forgetSites } from "./read-site.ts";
import { forgetSiteDirectory } from "./site-directory.ts";

// Shared by the tests of hosted sites: the whole Worker with real D1, R2 and Durable Objects, and the admin API that publishes.

const encoder = new TextEncoder();

export const PUBLIC_HOSTS = "gate.example";
export const siteEnv = { ...testEnv, PUBLIC_HOSTS, ADMIN_HOST: "admin.example" };

export interface TestSite {
  readonly id: string;
  readonly name: string;
  readonly host: string;
}

/** A site of its own name and host, with nothing published. */
export async function newSite(settings: object = {}): Promise<TestSite> {
  forgetSites();
  forgetSiteDirectory();
  forgetPolicy();
  const name = `site-${crypto.randomUUID().slice(0, 8)}`;
  const host = `${name}.example`;
  const { body, status } = await call("POST", "/sites", { name, hosts: [host], ...settings });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { id: body.id, name, host };
}

export function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? encoder.encode(content) : content;
}

/** Uploads bytes and answers their digest. */
export async function upload({ id }: TestSite, content: string | Uint8Array): Promise<string> {
  const bytes = bytesOf(content);
  const sha256 = await sha256Hex(bytes);
  const headers = { "Content-Type": "application/octet-stream" };
  const { status, body } = await call("POST", `/sites/${id}/blobs?sha256=${sha256}`, undefined, {
    raw: bytes,
    headers,
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return sha256;
}

export function skillText(name: string, description: string, body = ""): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n${body}`;
}

/** A skill of one file, uploaded; what is given is said of it too. */
export async function aSkill(site: TestSite, name: string, about: Record<string, unknown> = {}, body = "") {
  const description = `Does ${name}.`;
  const sha256 = await upload(site, skillText(name, description, body));
  return { name, type: "skill-md", description, url: `/skills/${name}.md`, sha256, ...about };
}

/** Publishes, and answers what the API says. */
export async function publish({ id }: TestSite, publication: object) {
  return call("POST", `/sites/${id}/versions`, { title: "Example", ...publication });
}

/** One request to the whole Worker, its background work done. */
export async function ask(url: string, init: RequestInit = {}, bindings: object = {}): Promise<Response> {
  const ctx = createExecutionContext();
  const request = new Request(url, init) as Request<unknown, IncomingRequestCfProperties>;
  const response = await worker.fetch(request, { ...siteEnv, ...bindings } as unknown as Env, ctx);
  await waitOnExecutionContext(ctx);
  return response;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever the manifest holds.
export async function manifestOf(url: string, headers: Record<string, string> = {}): Promise<any> {
  const response = await ask(url, { headers });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

/** Puts other bytes in the place of those with this digest, as a bucket that is tampered with. */
export async function tamper({ id }: TestSite, sha256: string, bytes: string | null): Promise<void> {
  const key = `sites/${id}/${sha256}`;
  await (bytes === null ? testEnv.SITES.delete(key) : testEnv.SITES.put(key, bytes));
}
