import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { Command } from "commander";
import { decodeUtf8 } from "../core/integrity.ts";
import { BuildError } from "../core/memory/building/build-error.ts";
import { type BuiltSnapshot, buildSnapshot, type SourceDocument } from "../core/memory/building/build-snapshot.ts";
import { LEAST_CHARACTERS, MOST_CHARACTERS } from "../core/memory/building/chunks.ts";
import { CommandError } from "./command-error.ts";
import { errorCode, writeWhole } from "./files.ts";
import { printable, type Terminal } from "./terminal.ts";

interface BuildFlags {
  readonly out: string;
  readonly check?: true;
}

/** `skillgate memory build <dir>` */
export function memoryCommand(terminal: Terminal): Command {
  return new Command("memory").description("Make the snapshot that a publisher's tools search.").addCommand(
    new Command("build")
      .description("Make a snapshot of all Markdown files in a folder and those below it.")
      .argument("<dir>", "the folder; names that begin with a dot, node_modules and links are passed over")
      .option("--out <file>", "where the snapshot goes", "memory.json")
      .option("--check", "write nothing; end with 1 where the file is not what it would become")
      .addHelpText(
        "after",
        `\nChunks have ${LEAST_CHARACTERS} to ${MOST_CHARACTERS} characters; code blocks and quotes stay whole. The same files give the same bytes.`,
      )
      .action((folder: string, flags: BuildFlags) => buildMemory(folder, flags, terminal)),
  );
}

async function buildMemory(folder: string, { out, check }: BuildFlags, terminal: Terminal): Promise<void> {
  const documents = await readMarkdown(resolve(terminal.cwd, folder), folder);
  let snapshot: BuiltSnapshot;
  try {
    snapshot = buildSnapshot(documents);
  } catch (error) {
    if (error instanceof BuildError) throw new CommandError("bad_file", `${error.message} (${error.code})`);
    throw error;
  }
  if (check) {
    const present = await readFile(resolve(terminal.cwd, out)).catch(() => null);
    if (present?.equals(snapshot.bytes)) terminal.report(`${printable(out)} is current.`);
    else {
      terminal.report(
        `${printable(out)} is not what ${printable(folder)} gives: build it again, and write its new hash into llms.txt.`,
      );
      terminal.fail();
    }
  } else await writeWhole(out, snapshot.bytes, terminal);
  terminal.report(summary(snapshot));
  terminal.print(memoryLine(snapshot.bytes, `/${relative(".", out).split(sep).at(-1)}`));
}

/** All Markdown below a folder, in no particular order. @throws {CommandError} `bad_file` */
export async function readMarkdown(root: string, shown = root): Promise<readonly SourceDocument[]> {
  const documents: SourceDocument[] = [];
  const visit = async (folder: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) await visit(path);
      else if (entry.isFile() && /\.(?:md|markdown)$/i.test(entry.name)) {
        documents.push({ path: relative(root, path).split(sep).join("/"), text: decode(await readFile(path), path) });
      }
    }
  };
  try {
    await visit(root);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError("bad_file", `The folder ${shown} cannot be read (${errorCode(error)}).`);
  }
  if (documents.length === 0) throw new CommandError("bad_file", `The folder ${shown} holds no Markdown file.`);
  return documents;
}

function decode(bytes: Uint8Array, file: string): string {
  try {
    return decodeUtf8(bytes);
  } catch {
    throw new CommandError("bad_file", `The file ${file} is not valid UTF-8.`);
  }
}

/** The line for `llms.txt`. */
export function memoryLine(snapshot: Uint8Array, path: string): string {
  const fields = {
    snapshot: path,
    snapshot_sha256: createHash("sha256").update(snapshot).digest("hex"),
    format: "minimemory-okf-v1",
  };
  return `<!-- skills-memory: ${JSON.stringify(fields)} -->`;
}

function summary({ documents, chunkCharacters, bytes }: BuiltSnapshot): string {
  const sizes = [...chunkCharacters].sort((one, other) => one - other);
  const [least, median, most] = [0, sizes.length >> 1, sizes.length - 1].map((index) => sizes[index]);
  return `${documents} documents, ${sizes.length} chunks of ${least} to ${most} characters (median ${median}), ${bytes.length} bytes.`;
}
