import type { Command } from "commander";

/** Reads an option that may be given several times. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** Makes it an error to give an option twice that has one value: commander would take the last one without a word. */
export function refuseRepeated(command: Command): void {
  for (const option of command.options) {
    if ((!option.required && !option.optional) || option.parseArg === collect) continue;
    let isGiven = false;
    command.on(`option:${option.name()}`, () => {
      if (isGiven) command.error(`error: option '${option.flags}' is given twice; it has one value`);
      isGiven = true;
    });
  }
}
