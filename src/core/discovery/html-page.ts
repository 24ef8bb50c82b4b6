/** True for what hosts answer with 200 in place of a missing file or of a site under repair. */
export function isHtmlPage(text: string): boolean {
  return /^\s*<(?:!doctype\s+html|html)\b/i.test(text);
}
