import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Writes what a build step made. A file that stays the same keeps its time, by which others judge whether they are current. */
export function writeGenerated(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (readOrNull(path) !== text) writeFileSync(path, text);
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
