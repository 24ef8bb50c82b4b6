// Embeds the trust root of the public Sigstore instance: `npm run build:trust-root`, after an update of @sigstore/tuf.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { canonicalJson } from "../../core/canonical-json.ts";
import type { JsonObject } from "../../core/json.ts";

const OUTPUT = fileURLToPath(new URL("../../core/attestation/sigstore/trusted-root.ts", import.meta.url));
const PUBLIC_INSTANCE = "https://tuf-repo-cdn.sigstore.dev";

/** The text of `src/core/attestation/sigstore/trusted-root.ts`. */
export function embedTrustedRoot(): string {
  const folder = dirname(createRequire(import.meta.url).resolve("@sigstore/tuf/package.json"));
  const seeds = JSON.parse(readFileSync(join(folder, "seeds.json"), "utf8"));
  const encoded = seeds[PUBLIC_INSTANCE].targets["trusted_root.json"] as string;
  const json = canonicalJson(JSON.parse(Buffer.from(encoded, "base64").toString("utf8")) as JsonObject);
  const id = createHash("sha256").update(json).digest("hex");
  return [
    "// Made by `npm run build:trust-root` from the seeds of @sigstore/tuf. Do not edit; read the change before you commit it.",
    `export const EMBEDDED_TRUST_ROOT_ID = "${id}";`,
    "/** Canonical JSON of the public Sigstore instance's trusted_root.json. */",
    "export const EMBEDDED_TRUST_ROOT =",
    `  '${json.replace(/[\\']/g, "\\$&")}';`,
    "",
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(OUTPUT, embedTrustedRoot());
