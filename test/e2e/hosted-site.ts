import { createHash } from "node:crypto";
import type { TwoGateways } from "./two-gateways.ts";

const NAMES = ["one", "two", "three"];

/** A skill as a manifest names it. */
export interface ManifestRow {
  readonly name: string;
  readonly url: string;
  readonly digest: string;
}

/** A site of three skills, all of which have other bytes in every version. */
export class HostedSite {
  readonly #gateways: TwoGateways;
  readonly #id: string;
  readonly #name: string;
  /** By digest: the version that has these bytes. */
  readonly versions = new Map<string, number>();

  private constructor(gateways: TwoGateways, id: string, name: string) {
    this.#gateways = gateways;
    this.#id = id;
    this.#name = name;
  }

  static async create(gateways: TwoGateways, name: string, settings: object = {}): Promise<HostedSite> {
    const { id } = (await gateways.administer("POST", "/sites", { name, ...settings })) as { readonly id: string };
    return new HostedSite(gateways, id, name);
  }

  async publish(version: number): Promise<void> {
    const skills = await Promise.all(NAMES.map((name) => this.#upload(name, version)));
    await this.#gateways.administer("POST", `/sites/${this.#id}/versions`, { title: this.#name, skills });
  }

  /** The manifest as one of the isolates gives it. */
  async manifest(isolate: 0 | 1): Promise<readonly ManifestRow[]> {
    const answer = await fetch(`${this.#gateways.urls[isolate]}/s/${this.#name}/.well-known/agent-skills/index.json`);
    return ((await answer.json()) as { readonly skills: readonly ManifestRow[] }).skills;
  }

  async #upload(name: string, version: number) {
    const text = `---\nname: ${name}\ndescription: ${name}\n---\n\nVersion ${version}.\n`;
    const sha256 = createHash("sha256").update(text).digest("hex");
    this.versions.set(`sha256:${sha256}`, version);
    const answer = await fetch(`${this.#gateways.url}/admin/api/v1/sites/${this.#id}/blobs?sha256=${sha256}`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${this.#gateways.adminToken}`,
        "Content-Type": "application/octet-stream",
      },
      body: text,
    });
    if (!answer.ok) throw new Error(await answer.text());
    return { name, type: "skill-md", description: name, url: `/skills/${name}.md`, sha256 };
  }
}

/** The digest of what lies at an address, as manifests write it; the status where it is no 200. */
export async function digestAt(url: string): Promise<string> {
  const answer = await fetch(url);
  const bytes = Buffer.from(await answer.arrayBuffer());
  return answer.status === 200 ? `sha256:${createHash("sha256").update(bytes).digest("hex")}` : String(answer.status);
}
