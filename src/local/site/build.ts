import { basename } from "node:path";
import { readAttestations } from "../../core/attestation/read.ts";
import { ATTESTATIONS_PATH } from "../../core/discovery/attestations.ts";
import { INDEX_PATH } from "../../core/discovery/skills-index.ts";
import type { Json } from "../../core/json.ts";
import { DEFAULT_DISCOVERY_LIMITS } from "../../core/limits.ts";
import { type CanonicalOrigin, parseOrigin } from "../../core/origin.ts";
import type { Sandbox } from "../../core/sandbox/sandbox.ts";
import type { Finding } from "../lint/finding.ts";
import { lintOrigin } from "../lint/lint.ts";
import type { SiteFiles } from "../serve/site-files.ts";
import { mergeAttestations, readAttestationsFile } from "./attestations-file.ts";
import { writeIndex } from "./index-file.ts";
import { LlmsTxtLines } from "./llms-txt-lines.ts";
import { type SiteBuild, SiteDraft } from "./site-draft.ts";
import { type ListedSkill, writeSkillLines } from "./skill-lines.ts";
import { buildSnapshots } from "./snapshots.ts";

export interface BuildOptions {
  readonly site: SiteFiles;
  /** Where the site is, or will be; `null`: where its attestations say, if they agree. */
  readonly origin: CanonicalOrigin | null;
  /** Entries that reviewers sent. */
  readonly attestations: readonly Json[];
  readonly sandbox: Sandbox;
  /**
   * Whether what is not there may be back in a moment, since somebody is at work on the site: then nothing of its author's goes for that.
   * Default: no.
   */
  readonly isAtWork?: boolean;
  /** Whether an `llms.txt` that is not there is made. Default: yes. */
  readonly makesLlmsTxt?: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const NOWHERE = "https://site.example" as CanonicalOrigin;

/**
 * Makes what a site's scripts, recipes, notes and reviewers' files give: hashes and missing lines of `llms.txt`, `index.json`,
 * `attestations.json` and memory snapshots. The finished site is then discovered as a gateway would discover it, in the same
 * sandbox, so that what does not load is known before it is published. The same files give the same bytes.
 */
export async function buildSite(options: BuildOptions): Promise<SiteBuild> {
  const { site, sandbox, now, isAtWork = false, makesLlmsTxt = true } = options;
  const origin =
    options.origin ?? (await attestedOrigin(new SiteDraft(site, NOWHERE), options.attestations)) ?? NOWHERE;
  const draft = new SiteDraft(site, origin);
  const present = await draft.readText("llms.txt");
  // An editor may have emptied it before it writes.
  if (!makesLlmsTxt && (present ?? "").trim() === "" && draft.failures.length === 0) {
    draft.fail("llms.txt", "absent", "The file llms.txt is empty or not there: nothing is written until it is.");
    return draft.built([]);
  }
  const text = new LlmsTxtLines(present ?? `# ${basename(site.folder)}\n`);
  let skills: readonly ListedSkill[] = [];
  if (!draft.failures.some(({ file }) => file === "llms.txt")) {
    await buildSnapshots(draft, text);
    skills = await writeSkillLines(draft, text);
    await draft.write("llms.txt", text.toString(), present === null ? ["is missing"] : text.reasons);
    await writeIndex(draft, skills, isAtWork);
  }
  await mergeAttestations(draft, options.attestations);

  const limits = DEFAULT_DISCOVERY_LIMITS;
  const lint = { origin, fetch: draft.fetch, sandbox, limits, now, reviewers: null, mode: "advisory" as const };
  const { findings } = await lintOrigin(lint);
  // What the draft had to say of a file says more than that it could not be fetched.
  const known = new Set(draft.failures.map(({ file }) => file));
  for (const finding of findings) {
    const file = fileOf(finding, skills, draft);
    const isRepeated = known.has(file) || (known.size > 0 && ["http_status", "no_skills"].includes(finding.code));
    if (finding.level === "warning" || finding.subject.startsWith("attestation")) {
      const isUnsaid = finding.code === "other_origin" && options.origin === null;
      if (!isUnsaid && !isRepeated) draft.notes.push(`${file}: ${finding.message}`);
    } else if (!isRepeated) {
      const hint =
        finding.code === "outside_origin" && options.origin === null ? " Where the site is, --origin says." : "";
      draft.fail(file, finding.code, finding.message + hint);
    }
  }
  return draft.built(skills);
}

async function attestedOrigin(draft: SiteDraft, added: readonly Json[]): Promise<CanonicalOrigin | null> {
  const { attestations } = await readAttestations([...((await readAttestationsFile(draft)) ?? []), ...added]);
  const [only, ...others] = new Set(attestations.map(({ origin }) => origin));
  return only === undefined || others.length > 0 ? null : parseOrigin(only, { allowLoopbackHttp: true, ownHosts: [] });
}

/** The file in which a finding is to be put right, from the site's root. */
function fileOf({ subject, scope, name }: Finding, skills: readonly ListedSkill[], draft: SiteDraft): string {
  const skill = skills.find((each) => each.scope === scope && each.name === name);
  if (subject === "index") return INDEX_PATH.slice(1);
  if (subject.startsWith("attestation")) return ATTESTATIONS_PATH.slice(1);
  const path = subject === "skill" ? skill?.tool?.path : subject === "recipe" ? skill?.recipe?.url : undefined;
  return path === undefined ? "llms.txt" : (draft.locate(path) ?? path);
}
