/** Words that a POSIX shell takes as they are. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** A command to be pasted into a POSIX shell, whatever is in its words: blanks, quotes, dollar signs. */
export function shellCommand(...words: readonly string[]): string {
  return words.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
