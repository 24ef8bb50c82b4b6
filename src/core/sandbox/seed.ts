/** 128 random bits as 32 hexadecimal digits. `random` gives numbers in [0, 1); default: the cryptographic generator. */
export function newSeed(random?: () => number): string {
  const words = new Uint32Array(4);
  if (random === undefined) crypto.getRandomValues(words);
  else for (let index = 0; index < words.length; index++) words[index] = Math.floor(random() * 0x1_0000_0000);
  return Array.from(words, (word) => word.toString(16).padStart(8, "0")).join("");
}
