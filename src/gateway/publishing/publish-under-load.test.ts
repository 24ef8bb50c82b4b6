import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { sha256Hex } from "../../core/integrity.ts";
import { freshDatabase } from "../admin/fixture.ts";
import { aSkill, ask, manifestOf, newSite, publish, type TestSite } from "./fixture.ts";

const INDEX = "/.well-known/agent-skills/index.json";
const VERSIONS = 5;
const NAMES = ["one", "two", "three"];
/** Each asks for a manifest and its three artifacts: 58 begun in a second are 232 requests. */
const READERS = 240;
const READERS_APART_MS = 17;
/** Between a manifest and what it names. */
const LONGEST_PAUSE_MS = 400;

beforeAll(freshDatabase);
afterAll(() => vi.restoreAllMocks());

interface Row {
  readonly url: string;
  readonly digest: string;
}

/** A site all of whose artifacts have other bytes in every version. */
async function changingSite(settings: object) {
  const site: TestSite = await newSite(settings);
  const versions = await Promise.all(
    Array.from({ length: VERSIONS + 1 }, async (_, version) =>
      Promise.all(NAMES.map((name) => aSkill(site, name, {}, `Version ${version}.`))),
    ),
  );
  const versionOf = new Map<string, number>(
    versions.flatMap((skills, version) => skills.map(({ sha256 }) => [`sha256:${sha256}`, version] as const)),
  );
  const publishVersion = async (version: number) => {
    expect((await publish(site, { skills: versions[version] })).status).toBe(201);
  };
  return { site, versionOf, publishVersion };
}

async function digestAt(url: string): Promise<string> {
  const response = await ask(url);
  const bytes = new Uint8Array(await response.arrayBuffer());
  return response.status === 200 ? `sha256:${await sha256Hex(bytes)}` : String(response.status);
}

it("[skills-8.41] publishes of two sites during 200 requests a second: no manifest mixes versions, none of a site as it is made by default names a digest whose address has other bytes, and one of plain paths names what is found under its digest", {
  timeout: 60_000,
}, async () => {
  const usual = await changingSite({});
  const plain = await changingSite({ artifactUrls: "plain" });
  await Promise.all([usual, plain].map((each) => each.publishVersion(0)));
  // A line for each request would cost more than the requests.
  vi.spyOn(console, "log").mockImplementation(() => undefined);
  const wrong: string[] = [];
  let newer = 0;
  const read = async ({ site, versionOf }: typeof usual, pause: number): Promise<void> => {
    const { skills } = (await manifestOf(`https://${site.host}${INDEX}`)) as { readonly skills: readonly Row[] };
    const version = versionOf.get(skills[0]?.digest ?? "") ?? Number.NaN;
    expect(skills.map(({ digest }) => versionOf.get(digest))).toEqual([version, version, version]);
    await scheduler.wait(pause);
    for (const { url, digest } of skills) {
      const found = await digestAt(url);
      if (found === digest) continue;
      if (site === usual.site) {
        wrong.push(`${url} has ${found}`);
        continue;
      }
      newer += 1;
      expect(versionOf.get(found)).toBeGreaterThan(version);
      expect(await digestAt(`${url}@${digest.slice("sha256:".length)}`)).toBe(digest);
    }
  };
  const publishing = (async () => {
    for (let version = 1; version <= VERSIONS; version++) {
      await Promise.all([usual, plain].map((each) => each.publishVersion(version)));
      await scheduler.wait((READERS * READERS_APART_MS) / VERSIONS / 2);
    }
  })();
  const began = Date.now();
  const reading: Promise<void>[] = [];
  for (let reader = 0; reader < READERS; reader++) {
    reading.push(read(reader % 2 === 0 ? usual : plain, Math.random() * LONGEST_PAUSE_MS));
    await scheduler.wait(Math.max(0, began + (reader + 1) * READERS_APART_MS - Date.now()));
  }
  await Promise.all([publishing, ...reading]);
  const requests = READERS * (1 + NAMES.length) + newer;
  console.info(`${Math.round((requests * 1_000) / (Date.now() - began))} requests a second were answered.`);
  expect(wrong).toEqual([]);
  // Publishes did come between manifests and what they name.
  expect(newer).toBeGreaterThan(0);
});
