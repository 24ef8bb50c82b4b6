import { ToolHostError } from "./tool-host-error.ts";

/** Bundles of Sigstore are verified with Node's own cryptography, which Workers have too, and browsers do not. @throws {ToolHostError} `unsupported`. */
export function demandNodeCrypto(): void {
  const { process } = globalThis as unknown as { process?: { getBuiltinModule?(id: string): unknown } };
  if (process?.getBuiltinModule?.("node:crypto") !== undefined) return;
  throw new ToolHostError(
    "unsupported",
    "This platform cannot verify Sigstore bundles; signatures by a key of one's own it can.",
  );
}
