/** What a site may say its files are. Pages and images with scripts are not among them: nothing of a site runs in a browser. */
const TYPES: readonly (readonly [ending: string, type: string])[] = [
  [".json", "application/json"],
  [".md", "text/markdown; charset=utf-8"],
  [".markdown", "text/markdown; charset=utf-8"],
  [".txt", "text/plain; charset=utf-8"],
  [".csv", "text/csv; charset=utf-8"],
  [".yaml", "application/yaml"],
  [".yml", "application/yaml"],
  [".xml", "application/xml"],
  [".pub", "text/plain; charset=utf-8"],
  [".tar.gz", "application/gzip"],
  [".tgz", "application/gzip"],
  [".zip", "application/zip"],
  [".png", "image/png"],
  [".jpg", "image/jpeg"],
  [".jpeg", "image/jpeg"],
  [".webp", "image/webp"],
];

export const SCRIPT_TYPE = "text/javascript; charset=utf-8";
export const JSON_TYPE = "application/json";

/** The `Content-Type` of a file of a site, by the end of its path. */
export function fileMediaType(path: string): string {
  const lower = path.toLowerCase();
  if (/\.m?js$/.test(lower)) return SCRIPT_TYPE;
  return TYPES.find(([ending]) => lower.endsWith(ending))?.[1] ?? "application/octet-stream";
}
