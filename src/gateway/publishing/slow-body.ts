/** Of a text, at a time. */
const SLICE_LENGTH = 64 * 1024;
/** A reader that has not taken all by then is left, milliseconds. */
export const READING_LIMIT_MS = 60_000;
/** So often it is looked at whether others want what is held. */
const LOOK_MS = 500;

const encoder = new TextEncoder();

/**
 * A body that is handed over as its reader takes it, in UTF-8.
 *
 * @param onEnd told once: when all was taken, or the reader went away or was left.
 * @param isWanted whether others want what is held for it: then its reader is left earlier.
 */
export function slowBody(
  text: string,
  onEnd: () => void,
  isWanted: () => boolean = () => false,
): ReadableStream<Uint8Array> {
  let at = 0;
  let timer: ReturnType<typeof setInterval>;
  const end = () => {
    clearInterval(timer);
    at = text.length;
    onEnd();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let looks = 0;
        timer = setInterval(() => {
          looks += 1;
          if (looks * LOOK_MS < READING_LIMIT_MS && !isWanted()) return;
          end();
          controller.error(new Error(`The answer was not read within ${(looks * LOOK_MS) / 1_000} s.`));
        }, LOOK_MS);
      },
      pull(controller) {
        const to = sliceEnd(text, at);
        controller.enqueue(encoder.encode(text.slice(at, to)));
        at = to;
        if (at < text.length) return;
        controller.close();
        end();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** Never between the two halves of a character. */
function sliceEnd(text: string, from: number): number {
  const to = Math.min(text.length, from + SLICE_LENGTH);
  const last = text.charCodeAt(to - 1);
  return to < text.length && last >= 0xd800 && last <= 0xdbff ? to - 1 : to;
}
