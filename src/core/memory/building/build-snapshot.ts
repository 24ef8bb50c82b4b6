import { type FrontMatter, readFrontMatter } from "../../front-matter.ts";
import { DEFAULT_DISCOVERY_LIMITS } from "../../limits.ts";
import { buildIndex } from "../index-builder.ts";
import { SnapshotError } from "../snapshot-error.ts";
import { BuildError } from "./build-error.ts";
import { cutChunks, lengthOf } from "./chunks.ts";
import { readSections } from "./sections.ts";

/** One Markdown document. */
export interface SourceDocument {
  /** With forward slashes, relative to the folder that is built, such as `guide/install.md`. */
  readonly path: string;
  readonly text: string;
}

export interface BuiltSnapshot {
  /** What is to be published, byte for byte. */
  readonly bytes: Uint8Array;
  readonly documents: number;
  /** Characters of the content of each chunk, in the order of the snapshot. */
  readonly chunkCharacters: readonly number[];
}

const DEFAULT_TYPE = "docs";

/** Fields that the builder fills in; front matter of these names is not copied. */
const OWN_FIELDS = new Set([
  "content",
  "heading",
  "okf_concept",
  "okf_type",
  "tags_text",
  "title",
  "type",
  "tags",
  "__proto__",
]);

/**
 * Makes a `minimemory-okf-v1` snapshot of Markdown documents. The same documents give the same bytes, in whatever order they come:
 * entries are sorted by id (by code unit), JSON is compact, its keys are sorted.
 *
 * A document is one concept, named by its path without the ending; its chunks are `<concept>#0`, `<concept>#1`, …. Each has a
 * `title` ("Document: Section"), the `heading` of its section, and the document's front matter: `type` as `okf_type`,
 * `tags` also as `tags_text`, which is searched, `description`, `resource`, and every other field that is text, a number
 * or a truth value.
 *
 * @throws {BuildError}
 */
export function buildSnapshot(documents: readonly SourceDocument[]): BuiltSnapshot {
  const entries = documents.flatMap(entriesOf);
  entries.sort((one, other) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0));
  const twice = entries.find(({ id }, index) => id === entries[index - 1]?.id);
  if (twice !== undefined) {
    const { okf_concept: concept } = twice.metadata;
    throw new BuildError(
      "duplicate_concept",
      `Two documents are named ${JSON.stringify(concept)}: endings do not count.`,
    );
  }
  if (entries.length === 0) {
    throw new BuildError("nothing_to_search", "The documents hold no text: a snapshot would be empty.");
  }
  const bytes = new TextEncoder().encode(JSON.stringify(entries));
  const { snapshotBytes } = DEFAULT_DISCOVERY_LIMITS;
  if (bytes.length > snapshotBytes) {
    throw new BuildError("too_large", `The snapshot has ${bytes.length} bytes; gateways accept ${snapshotBytes}.`);
  }
  requireSearchable(bytes);
  return {
    bytes,
    documents: documents.length,
    chunkCharacters: entries.map(({ metadata }) => lengthOf(metadata.content)),
  };
}

interface Entry {
  readonly id: string;
  readonly metadata: { readonly content: string; readonly okf_concept: string } & FrontMatter;
}

function entriesOf({ path, text }: SourceDocument): Entry[] {
  const read = readFrontMatter(text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n"));
  if (read.state === "bad") throw new BuildError("bad_front_matter", `The front matter of ${path} ${read.problem}.`);
  const fields = read.state === "read" ? read.fields : {};
  const concept = path.replace(/\.(?:md|markdown)$/i, "");
  const sections = readSections(read.body);
  const title = documentTitle(fields, sections.find(({ depth }) => depth === 1)?.heading ?? null, concept);
  const common = commonFields(fields, path);
  return cutChunks(sections).map(({ heading, content }, number) => ({
    id: `${concept}#${number}`,
    metadata: sorted({
      ...common,
      content,
      okf_concept: concept,
      title: heading === null || heading === title ? title : `${title}: ${heading}`,
      ...(heading === null ? {} : { heading }),
    }),
  }));
}

function documentTitle({ title }: FrontMatter, heading: string | null, concept: string): string {
  if (typeof title === "string" && title.trim() !== "") return title.trim();
  return heading || (concept.split("/").at(-1) ?? concept);
}

/** What all chunks of a document have of its front matter. */
function commonFields(fields: FrontMatter, file: string): Readonly<Record<string, unknown>> {
  const { type = DEFAULT_TYPE, title = "", tags } = fields;
  for (const [key, value] of Object.entries({ type, title })) {
    if (typeof value !== "string") {
      throw new BuildError("bad_front_matter", `The field \`${key}\` in the front matter of ${file} must be text.`);
    }
  }
  const list = readTags(tags, file);
  const others = Object.entries(fields).filter(
    ([key, value]) => !OWN_FIELDS.has(key) && ["string", "number", "boolean"].includes(typeof value),
  );
  return {
    ...Object.fromEntries(others),
    okf_type: type,
    ...(list.length === 0 ? {} : { tags: list, tags_text: list.join(" ") }),
  };
}

/** A list, or text with commas. */
function readTags(tags: unknown, file: string): string[] {
  const list = typeof tags === "string" ? tags.split(",") : (tags ?? []);
  if (!Array.isArray(list) || !list.every((tag) => typeof tag === "string" || typeof tag === "number")) {
    throw new BuildError(
      "bad_front_matter",
      `The field \`tags\` in the front matter of ${file} must be a list of words.`,
    );
  }
  return list.map((tag) => String(tag).trim()).filter((tag) => tag !== "");
}

function sorted<T extends object>(object: T): T {
  const entries = Object.entries(object).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries) as T;
}

/** The gateway's own judgement, before anybody publishes what it would refuse. */
function requireSearchable(bytes: Uint8Array): void {
  try {
    const slices = buildIndex(bytes);
    while (!slices.next().done);
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    throw new BuildError("bad_snapshot", error.message);
  }
}
