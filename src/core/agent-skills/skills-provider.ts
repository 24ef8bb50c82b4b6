import { decodeExactly, IntegrityError } from "../integrity.ts";
import type { JsonObject } from "../json.ts";
import type {
  CallContext,
  ListedResource,
  ProvidedSkills,
  Provider,
  ResourceContents,
  ToolResult,
} from "../mcp/provider.ts";
import { metaOf } from "../serve-recipes.ts";
import {
  isTextType,
  SKILL_FILE,
  type SkillFile,
  type SkillFolder,
  skillEntry,
  skillFileType,
  skillFileUri,
} from "./skill-folder.ts";

/** The Agent Skills of an origin as one client sees them. */
export interface AgentSkills extends Pick<ProvidedSkills, "manifestUrl" | "pointer"> {
  readonly folders: readonly SkillFolder[];
  /**
   * The bytes of a file. They have the file's digest, or it throws.
   *
   * @throws whatever the host's `describeError` words.
   */
  read(folder: SkillFolder, file: SkillFile): Promise<Uint8Array>;
}

/** Adds the files of Agent Skills to what a provider has: `skill://<name>/SKILL.md` and what lies beside it. */
export function withAgentSkills(provider: Provider, skills: AgentSkills): Provider {
  return new SkillsProvider(provider, skills);
}

interface ServedFile {
  readonly folder: SkillFolder;
  readonly file: SkillFile;
}

class SkillsProvider implements Provider {
  readonly serverInfo: Provider["serverInfo"];
  readonly instructions?: string;
  readonly listChanged: boolean;
  readonly ttlMs: number;
  readonly resources: readonly ListedResource[];
  readonly skills: ProvidedSkills;
  readonly #provider: Provider;
  readonly #read: AgentSkills["read"];
  /** By URI. */
  readonly #files: ReadonlyMap<string, ServedFile>;

  constructor(provider: Provider, { folders, manifestUrl, pointer, read }: AgentSkills) {
    this.#provider = provider;
    this.#read = read;
    this.serverInfo = provider.serverInfo;
    if (provider.instructions !== undefined) this.instructions = provider.instructions;
    this.listChanged = provider.listChanged ?? false;
    this.ttlMs = provider.ttlMs;
    this.#files = new Map(
      folders.flatMap((folder) => folder.files.map((file) => [skillFileUri(folder, file), { folder, file }] as const)),
    );
    this.resources = [...provider.resources, ...[...this.#files].map(listFile)];
    this.skills = { entries: folders.flatMap((folder) => skillEntry(folder) ?? []), manifestUrl, pointer };
  }

  get tools(): Provider["tools"] {
    return this.#provider.tools;
  }

  get resourceTemplates(): Provider["resourceTemplates"] {
    return this.#provider.resourceTemplates;
  }

  callTool(name: string, args: JsonObject, context: CallContext): ToolResult | Promise<ToolResult> {
    return this.#provider.callTool(name, args, context);
  }

  readResource(uri: string, context: CallContext): ReturnType<Provider["readResource"]> {
    const served = this.#files.get(uri);
    return served === undefined ? this.#provider.readResource(uri, context) : this.#readFile(uri, served);
  }

  async #readFile(uri: string, { folder, file }: ServedFile): Promise<readonly ResourceContents[]> {
    const mimeType = skillFileType(file.path);
    const bytes = await this.#read(folder, file);
    return [{ uri, mimeType, ...contentsOf(bytes, mimeType), ...metaOf(folder.isUnverified !== true) }];
  }
}

function listFile([uri, { folder, file }]: readonly [uri: string, ServedFile]): ListedResource {
  const { path, bytes: size } = file;
  const about =
    path === SKILL_FILE ? { name: folder.name, description: folder.description } : { name: `${folder.name}/${path}` };
  return { uri, ...about, mimeType: skillFileType(path), size, ...metaOf(folder.isUnverified !== true) };
}

/** Text only where its UTF-8 is these very bytes, which have a digest. */
function contentsOf(bytes: Uint8Array, mimeType: string): Pick<ResourceContents, "text" | "blob"> {
  if (isTextType(mimeType)) {
    try {
      return { text: decodeExactly(bytes) };
    } catch (error) {
      if (!(error instanceof IntegrityError)) throw error;
    }
  }
  return { blob: base64(bytes) };
}

/** Arguments of one call, which are limited. */
const CHUNK = 24_576;

function base64(bytes: Uint8Array): string {
  let text = "";
  // A multiple of three bytes has no padding.
  for (let start = 0; start < bytes.length; start += CHUNK) {
    text += btoa(String.fromCharCode(...bytes.subarray(start, start + CHUNK)));
  }
  return text;
}
