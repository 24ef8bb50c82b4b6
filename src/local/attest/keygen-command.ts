import { Command } from "commander";
import { SIGSTORE_ATTESTER } from "../../core/attestation/attestation.ts";
import { isAttester } from "../../core/attestation/read.ts";
import { CommandError } from "../command-error.ts";
import type { Terminal } from "../terminal.ts";
import { createKeyFile } from "./key-file.ts";

interface KeygenFlags {
  readonly attester: string;
  readonly out: string;
  readonly force: boolean;
}

/** `skillgate attest keygen` */
export function keygenCommand(terminal: Terminal): Command {
  return new Command("keygen")
    .description("Make a reviewer's key pair. Prints attester=key, which is what others need to know.")
    .requiredOption("--attester <type:name>", "who signs, such as human:ada")
    .requiredOption("--out <file>", "the key file to write, readable by you alone")
    .option("--force", "replace the file if it is there", false)
    .action(async ({ attester, out, force }: KeygenFlags) => {
      if (!isAttester(attester) || attester.startsWith(SIGSTORE_ATTESTER)) {
        const message =
          "--attester must be type:name, such as human:ada; those of type sigstore have no key of their own.";
        throw new CommandError("usage", message);
      }
      const publicKey = await createKeyFile(out, attester, { force, cwd: terminal.cwd });
      terminal.report(`Wrote ${out}. Keep it to yourself; give operators the line below.`);
      terminal.print(`${attester}=${publicKey}`);
    });
}
