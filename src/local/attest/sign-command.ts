import { Command, Option } from "commander";
import { readAttestations } from "../../core/attestation/read.ts";
import { publishableAttestations } from "../../core/attestation/sign.ts";
import type { Json } from "../../core/json.ts";
import { CommandError } from "../command-error.ts";
import { readAttestationsFile, writeWhole } from "../files.ts";
import { GatewayApi, TOKEN_VARIABLE } from "../gateway-api.ts";
import { connectTo, type OriginConnection, readOrigin } from "../origin-connection.ts";
import { printable, type Terminal } from "../terminal.ts";
import { readKeyFile } from "./key-file.ts";
import { type PeriodFlags, readPeriod } from "./period.ts";
import { chooseLines, mergePublished, type Signed, signLines } from "./sign.ts";
import { folderSource, publishedSource, type SkillSource, workerSource } from "./skill-source.ts";
import { uploadAttestations } from "./upload.ts";

interface SignFlags extends PeriodFlags {
  readonly key: string;
  readonly all?: true;
  readonly scope?: string;
  readonly llms?: string;
  readonly fromWorker?: string;
  readonly note?: string;
  readonly merge?: string;
  readonly out?: string;
  readonly upload?: string;
  readonly token?: string;
}

/** `skillgate attest sign <origin>` */
export function signCommand(terminal: Terminal): Command {
  return new Command("sign")
    .description("Sign the code of skills, after reading every byte of it. Prints the array to publish.")
    .argument("<origin>", "the site that serves the skills, or will")
    .argument("[skill...]", "names of skills, without their scopes")
    .requiredOption("--key <file>", "the key file that attest keygen wrote")
    .option("--all", "sign every executable skill")
    .option("--scope <scope>", "sign skills of this scope only")
    .option("--days <n>", "the attestation holds until so many days from today (UTC), that day included")
    .option("--until <date>", "the last day on which it holds, YYYY-MM-DD")
    .addOption(
      new Option(
        "--llms <file>",
        "take llms.txt from this file and scripts from its folder, before they are published",
      ),
    )
    .addOption(new Option("--from-worker <file>", "take llms.txt and scripts out of a built Worker").conflicts("llms"))
    .option("--note <text>", "a remark for whoever reads the attestation; it is not signed")
    .option("--merge <file>", "keep the entries of this attestations.json, less those that are replaced")
    .option("--out <file>", "write the array to this file")
    .addOption(
      new Option(
        "--upload <gateway>",
        "store the attestations in a gateway, such as https://gateway.example",
      ).conflicts(["out", "merge"]),
    )
    .option("--token <token>", `the operator's token for --upload; better set ${TOKEN_VARIABLE}`)
    .action(async (text: string, names: readonly string[], flags: SignFlags) => {
      const origin = readOrigin(text);
      if ((flags.all === true) === names.length > 0) {
        throw new CommandError("usage", "Say what to sign: either names of skills or --all.");
      }
      const period = readPeriod(flags, terminal.now());
      const gateway = flags.upload === undefined ? null : new GatewayApi(flags.upload, flags.token, terminal);
      const published = flags.merge === undefined ? [] : await readAttestationsFile(flags.merge, terminal);
      const key = await readKeyFile(flags.key, terminal);

      await using connection = connectTo(origin);
      const source = await openSource(origin, connection, flags, terminal);
      const choice = { all: flags.all === true, names, scope: flags.scope ?? null };
      const lines = chooseLines(source.lines, choice);
      const signed = await signLines(lines, { origin, source, key, period, note: flags.note ?? null });
      reportSigned(signed, terminal);
      if (signed.refused.length > 0) terminal.fail();
      if (signed.attestations.length === 0) return;

      const entries = publishableAttestations(signed.attestations);
      await requireReadable(entries);
      if (gateway !== null) {
        await uploadAttestations(entries, gateway, terminal);
        return;
      }
      const array = `${JSON.stringify(await mergePublished(published, signed.attestations), null, 2)}\n`;
      if (flags.out === undefined) terminal.print(array.trimEnd());
      else await writeWhole(flags.out, array, terminal);
    });
}

function openSource(
  origin: ReturnType<typeof readOrigin>,
  { fetch }: OriginConnection,
  { llms, fromWorker }: SignFlags,
  terminal: Terminal,
): Promise<SkillSource> {
  if (llms !== undefined) return folderSource({ origin, fetch }, llms, terminal);
  if (fromWorker !== undefined) return workerSource({ origin, fetch }, fromWorker, terminal);
  return publishedSource({ origin, fetch });
}

/** What no gateway could read, such as a note that is too long, is not handed out. @throws {CommandError} `usage`. */
async function requireReadable(entries: readonly Json[]): Promise<void> {
  const [problem] = (await readAttestations(entries)).malformed;
  if (problem !== undefined) throw new CommandError("usage", problem.message);
}

function reportSigned({ attestations, refused }: Signed, terminal: Terminal): void {
  for (const { skill, toolSha256, validUntil } of attestations) {
    terminal.report(`Signed ${skill} ${toolSha256} until ${validUntil}.`);
  }
  for (const { name, code, message } of refused) {
    terminal.report(`Not signed: ${printable(name)}: ${code}: ${printable(message)}`);
  }
}
