const TEXT = "; charset=utf-8";

/** What publishers serve, and what a page about it needs. */
const TYPES: Readonly<Record<string, string>> = {
  txt: `text/plain${TEXT}`,
  md: `text/markdown${TEXT}`,
  markdown: `text/markdown${TEXT}`,
  js: `text/javascript${TEXT}`,
  mjs: `text/javascript${TEXT}`,
  json: `application/json${TEXT}`,
  html: `text/html${TEXT}`,
  css: `text/css${TEXT}`,
  xml: `application/xml${TEXT}`,
  yaml: `application/yaml${TEXT}`,
  yml: `application/yaml${TEXT}`,
  csv: `text/csv${TEXT}`,
  svg: `image/svg+xml${TEXT}`,
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  ico: "image/x-icon",
  woff2: "font/woff2",
  pdf: "application/pdf",
  wasm: "application/wasm",
  zip: "application/zip",
  gz: "application/gzip",
  tgz: "application/gzip",
};

/** The media type of a file by the ending of its name. */
export function contentTypeOf(name: string): string {
  const ending = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(TYPES, ending) ? (TYPES[ending] ?? "") : "application/octet-stream";
}
