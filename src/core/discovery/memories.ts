import type { DiscoveryLimits } from "../limits.ts";
import type { MemoryLine } from "../llmstxt/llmstxt.ts";
import type { CanonicalOrigin } from "../origin.ts";
import { type Checked, isOutage, passed, refused, rejection } from "./checked.ts";
import { type DeclaredFile, type Downloads, fileKey, type LaneFetch, releaseFull } from "./downloads.ts";
import type { ReleaseLedger } from "./ledger.ts";
import { checkMemoryLine } from "./lines.ts";
import type { Rejection, ReleaseMemory } from "./release.ts";

interface FetchedMemory {
  readonly line: MemoryLine;
  readonly result: Checked<{ readonly file: DeclaredFile; readonly bytes: Uint8Array }>;
}

/**
 * Fetches the memory snapshots of an origin: at most `limits.memories`, and `limits.memoryBytes` in sum. They are fetched
 * one after the other, each against what is left of the sum, since together they may be larger than all tools.
 */
export function fetchMemories(
  lines: readonly MemoryLine[],
  context: { readonly downloads: Downloads; readonly origin: CanonicalOrigin; readonly limits: DiscoveryLimits },
): Promise<readonly FetchedMemory[]> {
  const { downloads, origin, limits } = context;
  const checked = lines.map((line) => ({ line, file: checkMemoryLine(line, origin, limits) }));
  if (!checked.some(({ file }) => file.ok)) {
    return Promise.resolve(checked.map(({ line, file }) => ({ line, result: file as Checked<never> })));
  }
  return downloads.inOneLane(async (fetchVerified) => {
    const fetched: FetchedMemory[] = [];
    const wanted = Math.min(limits.memories, checked.filter(({ file }) => file.ok).length);
    let count = 0;
    let bytesLeft = limits.memoryBytes;
    for (const { line, file } of checked) {
      if (!file.ok) {
        fetched.push({ line, result: file });
        continue;
      }
      count += 1;
      if (count > limits.memories) {
        const message = `An origin may have at most ${limits.memories} memory snapshots.`;
        fetched.push({ line, result: refused("too_many_memories", message) });
        continue;
      }
      const result = await fetchOne(file.value, bytesLeft, limits, (each) => fetchVerified(each, wanted - count));
      if (result.ok) bytesLeft -= result.value.bytes.length;
      fetched.push({ line, result });
    }
    return fetched;
  });
}

async function fetchOne(
  file: DeclaredFile,
  bytesLeft: number,
  limits: DiscoveryLimits,
  fetchVerified: (file: DeclaredFile) => ReturnType<LaneFetch>,
): Promise<FetchedMemory["result"]> {
  const maxBytes = Math.min(file.maxBytes, bytesLeft);
  const bytes = await fetchVerified({ ...file, maxBytes });
  if (bytes.ok) return passed({ file, bytes: bytes.value });
  if (bytes.code !== "too_large" || maxBytes === file.maxBytes) return bytes;
  return refused(
    "too_large",
    `With this snapshot the memory snapshots of the origin would exceed ${limits.memoryBytes} bytes in sum, the limit.`,
  );
}

/** Whether a snapshot could not be had, and nothing is said about it. */
export function isMissing({ result }: FetchedMemory): boolean {
  return !result.ok && isOutage(result);
}

/**
 * What fits into the release; the rest is reported.
 *
 * @param last the snapshots that the origin served before: a scope's stays while its newer one cannot be had, as far as those that came leave
 * room for it in `limits.memoryBytes`.
 */
export function keepMemories(
  fetched: readonly FetchedMemory[],
  last: readonly ReleaseMemory[],
  { ledger, limits, rejected }: { ledger: ReleaseLedger; limits: DiscoveryLimits; rejected: Rejection[] },
): ReleaseMemory[] {
  const kept: ReleaseMemory[] = [];
  let bytesLeft = limits.memoryBytes;
  for (const { result } of fetched) if (result.ok) bytesLeft -= result.value.bytes.length;
  for (const one of fetched) {
    const { line, result } = one;
    const id = { scope: line.scope, name: "" };
    if (!result.ok) {
      rejected.push(rejection("memory", id, result));
      const before = isMissing(one) ? last.find(({ scope }) => scope === line.scope) : undefined;
      if (before === undefined || before.bytes.length > bytesLeft) continue;
      if (!ledger.take(`${before.sha256} of before`, before.bytes.length)) continue;
      bytesLeft -= before.bytes.length;
      kept.push(before);
      continue;
    }
    const { file, bytes } = result.value;
    if (ledger.take(fileKey(file), bytes.length)) {
      kept.push({ scope: line.scope, format: "minimemory-okf-v1", sha256: file.sha256, bytes });
    } else {
      rejected.push(rejection("memory", id, releaseFull("this snapshot", limits)));
    }
  }
  return kept;
}
