import { type Command, Option } from "commander";

/** An option that may be given several times; its value is the list of what it was given. */
export function repeatable(flags: string, description: string): Option {
  return new Option(flags, `${description}; may be repeated`).argParser(collect).default([], "none");
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
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
