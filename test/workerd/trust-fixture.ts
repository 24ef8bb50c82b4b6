import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { attestationEntry, attestationPayload } from "../../src/core/attestation/attestation.ts";
import { addDays, type CalendarDate, calendarDateOf } from "../../src/core/attestation/calendar-date.ts";
import { readAttestations } from "../../src/core/attestation/read.ts";
import { INDEX_PATH, INDEX_SCHEMA } from "../../src/core/discovery/skills-index.ts";
import { type Sha256Hex, sha256Hex } from "../../src/core/integrity.ts";
import type { Json, JsonObject } from "../../src/core/json.ts";
import type { CanonicalOrigin } from "../../src/core/origin.ts";
import { GUIDE_TOOL, type SkillId } from "../../src/core/skill.ts";
import { forgetPolicy } from "../../src/gateway/auth/policy.ts";
import {
  artifacts,
  attestations,
  origins,
  reviewers,
  revocations,
  skills,
  trustState,
} from "../../src/gateway/registry/schema.ts";
import { addClient, addOrigin, callTool, env, mcp, result, rpc } from "./gateway-fixture.ts";

const registry = drizzle(env.DB);
const ATTESTATIONS = "/.well-known/agent-skills/attestations.json";

export interface Published extends SkillId {
  /** What the tool answers; its source follows from it. */
  readonly answer: string;
  /** The handler's expression in place of the answer itself. */
  readonly handler?: string;
  readonly recipe?: string;
  /** What `llms.txt` declares in place of the hash. */
  readonly declared?: string;
  /** What `index.json` says of it besides its name; without any there is no such file. */
  readonly indexed?: JsonObject;
}

const sourceOf = ({ name, answer, handler = `"${answer}"` }: Published) =>
  `registerTool({ name: "${name}", description: "Says ${answer}.", handler: () => ${handler} });`;

export function hashOf(skill: Published): Promise<Sha256Hex> {
  return hashText(sourceOf(skill));
}

/** Of a text in UTF-8. */
export function hashText(text: string): Promise<Sha256Hex> {
  return sha256Hex(new TextEncoder().encode(text));
}

/** A publisher whose files the test chooses, its row, and a client that may use it. */
export async function startPublisher(row: Partial<typeof origins.$inferInsert> = {}) {
  const { id, host, origin } = await addOrigin("files", "active", { pin: "hold", ...row });
  const { token } = await addClient();
  const path = mcp(origin);
  return {
    id,
    host,
    origin: origin as CanonicalOrigin,
    /** @param entries `null`: `attestations.json` is out of order. @param memories the content of a scope's only chunk. */
    publish: (
      published: readonly Published[],
      entries: readonly Json[] | null = [],
      memories: Readonly<Record<string, string>> = {},
    ) => publish(host, published, { entries, memories }),
    list: (bindings: Record<string, unknown> = {}) => rpc(path, "tools/list", { token, bindings }),
    call: (name: string) => callTool(path, token, name),
    /** What the tool answers, or the code of the refusal. */
    async value(name: string) {
      const answer = (await (await callTool(path, token, name)).json()) as {
        result?: { structuredContent?: { result: string } };
        error?: { code: number; data?: { code?: string } };
      };
      return answer.result?.structuredContent?.result ?? answer.error?.data?.code ?? answer.error?.code;
    },
    /** The publisher's own tools. */
    async tools(bindings: Record<string, unknown> = {}) {
      const { tools } = (await result(await rpc(path, "tools/list", { token, bindings }))) as {
        tools: { name: string; description: string }[];
      };
      const own = tools.filter(({ name }) => name !== GUIDE_TOOL);
      return own.map(({ name, description }) => `${name}: ${description}`);
    },
    /** The text of a recipe, as the runtime's own tool gives it. */
    async guide(name: string) {
      const { content } = (await result(await callTool(path, token, GUIDE_TOOL, { name }))) as {
        content: { text: string }[];
      };
      return content[0]?.text;
    },
    async recipes() {
      const { resources } = (await result(await rpc(path, "resources/list", { token }))) as {
        resources: { uri: string }[];
      };
      return resources.map(({ uri }) => uri);
    },
  };
}

async function publish(
  host: string,
  published: readonly Published[],
  {
    entries,
    memories,
  }: { readonly entries: readonly Json[] | null; readonly memories: Readonly<Record<string, string>> },
): Promise<void> {
  const files: Record<string, string | null> = { [ATTESTATIONS]: entries === null ? null : JSON.stringify(entries) };
  const indexed = published.flatMap(({ name, scope, indexed: fields }) => (fields ? [{ name, scope, ...fields }] : []));
  if (indexed.length > 0) files[INDEX_PATH] = JSON.stringify({ $schema: INDEX_SCHEMA, skills: indexed });
  const lines = published.map(async (skill, i) => {
    const { name, scope, recipe, declared } = skill;
    const tool = `/tools/${i}.js`;
    files[tool] = sourceOf(skill);
    if (recipe !== undefined) files[`/recipes/${i}.md`] = recipe;
    const metadata = {
      ...(scope === null ? {} : { scope }),
      ...(recipe === undefined ? {} : { sha256: await hashText(recipe) }),
      tool,
      tool_sha256: declared ?? (await hashOf(skill)),
    };
    return `- [${name}](${recipe === undefined ? "" : `/recipes/${i}.md`}): The ${name} <!-- skill: ${JSON.stringify(metadata)} -->`;
  });
  const memoryLines = Object.entries(memories).map(async ([scope, content]) => {
    const path = `/memory/${scope}.json`;
    const snapshot = JSON.stringify([{ id: "one#0", metadata: { content } }]);
    files[path] = snapshot;
    const fields = { scope, snapshot: path, snapshot_sha256: await hashText(snapshot), format: "minimemory-okf-v1" };
    return `<!-- skills-memory: ${JSON.stringify(fields)} -->`;
  });
  files["/llms.txt"] =
    `# Files\n\n${(await Promise.all(memoryLines)).join("\n")}\n\n## Skills\n\n${(await Promise.all(lines)).join("\n")}\n`;
  await fetch(`https://${host}/__files`, { method: "PUT", body: JSON.stringify(files) });
}

/** Approves a version and keeps it in the gateway's own store. */
export async function approve(originId: string, skill: Published, at = Date.now()): Promise<void> {
  const bytes = (text: string) => Buffer.from(new TextEncoder().encode(text));
  const { name, scope, recipe, answer } = skill;
  const toolSha256 = await hashOf(skill);
  const recipeSha256 = recipe === undefined ? null : await hashText(recipe);
  const definition = { name, description: `Says ${answer}.`, inputSchema: { type: "object" } };
  await registry
    .insert(skills)
    .values({
      originId,
      scope: scope ?? "",
      name,
      toolSha256,
      firstSeenAt: at,
      lastSeenAt: at,
      approvedAt: at,
      approvedBy: "test",
      description: `The ${name}`,
      definition: JSON.stringify(definition),
      recipeSha256,
      bytes: 1,
    })
    .onConflictDoUpdate({
      target: [skills.originId, skills.scope, skills.name, skills.toolSha256],
      set: { approvedAt: at },
    });
  const parts = [{ sha256: toolSha256, part: 0, bytes: bytes(sourceOf(skill)) }];
  if (recipe !== undefined && recipeSha256 !== null)
    parts.push({ sha256: recipeSha256, part: 0, bytes: bytes(recipe) });
  await registry.insert(artifacts).values(parts).onConflictDoNothing();
  await movePolicy(originId);
}

/** What every change of an origin does. */
export async function movePolicy(originId: string, set: Partial<typeof origins.$inferInsert> = {}): Promise<void> {
  await registry
    .update(origins)
    .set({ ...set, policyVersion: sql`policy_version + 1` })
    .where(eq(origins.id, originId));
  forgetPolicy();
}

/** What every change of trust does. */
async function moveTrust(): Promise<void> {
  await registry
    .insert(trustState)
    .values({ id: 1, version: 1 })
    .onConflictDoUpdate({ target: trustState.id, set: { version: sql`version + 1` } });
}

export interface TestReviewer {
  readonly id: string;
  readonly attester: string;
  /** An entry of `attestations.json`. */
  sign(origin: CanonicalOrigin, skill: Published, window?: Window): Promise<JsonObject>;
  change(set: Partial<typeof reviewers.$inferInsert>): Promise<void>;
}

interface Window {
  readonly signedOn?: CalendarDate;
  readonly validUntil?: CalendarDate;
}

/** Registers a reviewer with a key of its own. @param forget false: as if another isolate had done it. */
export async function addReviewer(name: string, registeredAt = 0, forget = true): Promise<TestReviewer> {
  const keys = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const raw = (await crypto.subtle.exportKey("raw", keys.publicKey)) as ArrayBuffer;
  const attester = `human:${name}-${crypto.randomUUID().slice(0, 8)}`;
  const id = `rev_${crypto.randomUUID()}`;
  const base64 = (bytes: ArrayBuffer) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
  await registry.insert(reviewers).values({ id, attester, kind: "ed25519", publicKey: base64(raw), registeredAt });
  await moveTrust();
  if (forget) forgetPolicy();
  return {
    id,
    attester,
    async sign(origin, skill, { signedOn = calendarDateOf(Date.now()), validUntil = addDays(signedOn, 30) } = {}) {
      const claim = { origin, skill: skill.name, toolSha256: await hashOf(skill), signedOn, validUntil };
      const signature = base64(
        await crypto.subtle.sign("Ed25519", keys.privateKey, attestationPayload(claim) as BufferSource),
      );
      return attestationEntry({ ...claim, attester, note: null, proof: { kind: "ed25519", signature } });
    },
    async change(set) {
      await registry.update(reviewers).set(set).where(eq(reviewers.id, id));
      await moveTrust();
    },
  };
}

/** Stores an entry with the gateway itself. */
export async function store(originId: string, entry: JsonObject, storedAt = Date.now()): Promise<string> {
  const [attestation] = (await readAttestations([entry])).attestations;
  if (attestation === undefined) throw new Error("malformed");
  const { id, origin, skill, toolSha256, attester, signedOn, validUntil } = attestation;
  const columns = { id, origin, skill, toolSha256, attester, signedOn, validUntil, storedAt, storedBy: "test" };
  await registry.insert(attestations).values({ ...columns, entry: JSON.stringify(entry) });
  await movePolicy(originId);
  return id;
}

/** Revokes a hash or an attestation, as another isolate would: nothing is forgotten here. */
export async function revoke(kind: "hash" | "attestation", subject: string): Promise<() => Promise<void>> {
  const id = `rvk_${crypto.randomUUID()}`;
  await registry.insert(revocations).values({ id, kind, subject, reason: "test", revokedAt: 1, revokedBy: "test" });
  await moveTrust();
  return async () => {
    await registry.update(revocations).set({ liftedAt: 2, liftedBy: "test" }).where(eq(revocations.id, id));
    await moveTrust();
  };
}
