/** What a command has of the process that runs it. */
export interface Terminal {
  /** Results: stdout. */
  readonly print: (line: string) => void;
  /** Progress and complaints: stderr. */
  readonly report: (line: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths are meant from. */
  readonly cwd: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** The results are printed and show problems: the process ends with 1. */
  readonly fail: () => void;
  /** stdin. */
  readonly input?: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** stdout, for whoever speaks a protocol on it. */
  readonly output?: NodeJS.WritableStream;
  /** Whether colours on stderr are seen as colours. */
  readonly isColored?: boolean;
  /** Aborted when the process is asked to end. Whoever asks for it sees to it that it does. */
  readonly ending?: AbortSignal;
  /** Calls a listener for each SIGHUP, which otherwise ends the process. */
  readonly onHangup?: (listener: () => void) => void;
}

/** Whether colours are wanted on a stream, and seen as such (https://no-color.org). */
export function showsColors({ isTTY }: { readonly isTTY?: boolean }, { NO_COLOR, TERM }: Terminal["env"]): boolean {
  return isTTY === true && (NO_COLOR ?? "") === "" && TERM !== "dumb";
}

/**
 * Text from somebody else, fit for a terminal: control characters, which could move the cursor or rewrite what is shown,
 * invisible ones and line breaks become escapes.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** Rows in columns as wide as their widest cell, two spaces apart. Cells are made {@link printable}. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = [head, ...rows].map((row) => row.map(printable));
  const widths = head.map((_, column) => Math.max(...shown.map((row) => row[column]?.length ?? 0)));
  return shown
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
