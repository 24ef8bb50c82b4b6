import { decodeUtf8, IntegrityError } from "../integrity.ts";
import type { Json } from "../json.ts";
import { type Checked, passed, refused } from "./checked.ts";
import type { Download } from "./downloads.ts";

/** The JSON of a well-known file; `null` for one that does not exist. */
export function readJson(download: Download, label: string): Checked<Json> | null {
  if (!download.ok) return download.status === 404 ? null : download;
  try {
    return passed(JSON.parse(decodeUtf8(download.value)) as Json);
  } catch (error) {
    if (error instanceof IntegrityError) return refused("bad_encoding", `The file ${label} is not valid UTF-8.`);
    return refused("bad_json", `The file ${label} is not valid JSON.`);
  }
}
