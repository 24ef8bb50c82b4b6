/** Lines in which Markdown reads no list: fenced code, or a comment over several lines. */
export interface ClosedBlock {
  /** Index of its first line. */
  readonly begin: number;
  /** Index behind its last line. */
  readonly end: number;
  /** Whether nothing ends it but the end of the text. */
  readonly isOpen: boolean;
}

const FENCE = /^\s*(`{3,}(?=[^`]*$)|~{3,})/;

export function closedBlocks(lines: readonly string[]): readonly ClosedBlock[] {
  const blocks: ClosedBlock[] = [];
  for (let begin = 0; begin < lines.length; begin++) {
    const ends = endOf(lines[begin] ?? "");
    if (ends === null) continue;
    const last = lines.findIndex((line, index) => index > begin && ends(line));
    blocks.push({ begin, end: last === -1 ? lines.length : last + 1, isOpen: last === -1 });
    begin = last === -1 ? lines.length : last;
  }
  return blocks;
}

/** Whether a line ends what this one begins; `null`: it begins nothing that goes on. */
function endOf(line: string): ((line: string) => boolean) | null {
  const fence = FENCE.exec(line)?.[1];
  if (fence !== undefined) {
    const [mark = ""] = fence;
    return (other) => {
      const text = other.trim();
      return text.length >= fence.length && text === mark.repeat(text.length);
    };
  }
  const comment = line.lastIndexOf("<!--");
  return comment !== -1 && !line.includes("-->", comment) ? (other) => other.includes("-->") : null;
}

export function blockAround(blocks: readonly ClosedBlock[], index: number): ClosedBlock | undefined {
  return blocks.find(({ begin, end }) => begin <= index && index < end);
}

/** What ends an item of a list, where it is not indented: a heading, an element or comment of HTML, a line across. */
const INTERRUPTS = /^ {0,3}(?:#{1,6}(?:\s|$)|<|(?:[-*_]\s*){3,}$)/;
const INDENTED = /^(?: {2,}|\t)/;

/** Where a line can be put behind an item of a list: behind what continues the item, and outside of code and comments. */
export function placeBehind(lines: readonly string[], item: number): number {
  const blocks = closedBlocks(lines);
  const around = blockAround(blocks, item);
  let place = around === undefined ? item + 1 : around.end;
  if (around?.isOpen) return around.begin;
  while (place < lines.length) {
    const line = lines[place] ?? "";
    const block = blocks.find(({ begin }) => begin === place);
    if (line.trim() === "") {
      // A blank line ends the item unless what follows is indented as its contents are.
      const next = lines.findIndex((other, index) => index > place && other.trim() !== "");
      if (next === -1 || !INDENTED.test(lines[next] ?? "")) return place;
      place = next;
    } else if (block !== undefined) {
      if (!INDENTED.test(line)) return place;
      if (block.isOpen) return item;
      place = block.end;
    } else if (INTERRUPTS.test(line)) return place;
    else place += 1;
  }
  return place;
}
