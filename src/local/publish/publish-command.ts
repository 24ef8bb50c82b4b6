import { Command } from "commander";
import { z } from "zod";
import type { Json } from "../../core/json.ts";
import { CommandError } from "../command-error.ts";
import { GatewayApi, TOKEN_VARIABLE } from "../gateway-api.ts";
import { openSite } from "../serve/site-files.ts";
import { printable, type Terminal } from "../terminal.ts";
import { type FolderPublication, readPublication, type SiteFile } from "./read-publication.ts";

/** Tries of one upload; what was uploaded before is not sent again. */
const UPLOAD_TRIES = 3;

interface Flags {
  readonly gateway?: string;
  readonly site?: string;
  readonly token?: string;
  readonly note?: string;
  readonly create?: true;
  readonly dryRun?: true;
}

const SITE = z.object({ id: z.string(), name: z.string(), currentVersion: z.int().nullable() });
const SITES = z.object({ items: z.array(SITE) });
const MISSING = z.object({ missing: z.array(z.string()) });
const PUBLISHED = z.object({
  version: z.int(),
  warnings: z.array(z.object({ field: z.string(), message: z.string() })),
});

/** `skillgate publish` */
export function publishCommand(terminal: Terminal): Command {
  return new Command("publish")
    .description("Publish a folder with an llms.txt as a site that a gateway hosts.")
    .argument("<dir>", "the site's folder, as skillgate build leaves it")
    .option("--gateway <url>", "the gateway that hosts the site, such as https://gateway.example")
    .option("--site <name>", "the site's name at the gateway")
    .option("--create", "create the site where there is none of this name")
    .option("--note <text>", "what operators read of this version")
    .option("--token <token>", `an operator's token; better set ${TOKEN_VARIABLE}`)
    .option("--dry-run", "print what would be published, and ask no gateway")
    .action(async (folder: string, flags: Flags) => {
      const read = await readPublication(await openSite(folder, terminal));
      for (const note of read.notes) terminal.report(printable(note));
      if (flags.dryRun) {
        terminal.print(JSON.stringify(read.publication, null, 2));
        return;
      }
      const { gateway, site } = flags;
      if (gateway === undefined || site === undefined) {
        throw new CommandError("usage", "Say where to publish with --gateway and --site, or look with --dry-run.");
      }
      await publish(new GatewayApi(gateway, flags.token, terminal), site, read, flags, terminal);
    });
}

/** Bytes first, then the version that names them: a publish that is interrupted has changed nothing, and goes on where it was. */
async function publish(
  gateway: GatewayApi,
  name: string,
  { publication, blobs }: FolderPublication,
  { create, note }: Flags,
  terminal: Terminal,
): Promise<void> {
  const site = await findSite(gateway, name, create === true);
  const path = `/sites/${site.id}`;
  const { missing } = answered(MISSING, await gateway.post(`${path}/blobs/missing`, { digests: [...blobs.keys()] }));
  for (const sha256 of missing) {
    const blob = blobs.get(sha256);
    if (blob !== undefined) await upload(gateway, `${path}/blobs?sha256=${sha256}`, blob);
  }
  terminal.report(`Uploaded ${missing.length} of ${blobs.size} files; the others were there.`);
  const wanted = { ...publication, base: site.currentVersion, ...(note === undefined ? {} : { note }) };
  const answer = await gateway.post(`${path}/versions`, wanted);
  const { version, warnings } = answered(PUBLISHED, answer);
  for (const { field, message } of warnings) terminal.report(`Warning: ${printable(field)}: ${printable(message)}`);
  terminal.report(`Published version ${version} of ${name}.`);
  terminal.print(JSON.stringify(answer, null, 2));
}

async function findSite(gateway: GatewayApi, name: string, mayCreate: boolean): Promise<z.infer<typeof SITE>> {
  const { items } = answered(SITES, await gateway.get(`/sites?name=${encodeURIComponent(name)}`));
  const [site] = items;
  if (site !== undefined) return site;
  if (mayCreate) return answered(SITE, await gateway.post("/sites", { name }));
  throw new CommandError("unknown_site", `The gateway hosts no site ${name}; --create makes one.`);
}

async function upload(gateway: GatewayApi, address: string, { bytes, path }: SiteFile): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await gateway.upload(address, bytes);
      return;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (error.code === "gateway_unreachable" && tries < UPLOAD_TRIES) continue;
      throw new CommandError(error.code, `${printable(path)} was not taken: ${error.message}`);
    }
  }
}

function answered<T>(shape: z.ZodType<T>, answer: Json): T {
  const read = shape.safeParse(answer);
  if (read.success) return read.data;
  throw new CommandError("gateway_refused", "The gateway's answer is not what this version of skillgate understands.");
}
