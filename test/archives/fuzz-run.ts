import { parseArgs } from "node:util";
import { fuzzArchives } from "./fuzz.ts";

const { values } = parseArgs({
  options: { count: { type: "string", default: "100000" }, seed: { type: "string", default: "1" } },
});
const { mutants, accepted, refused, differences } = fuzzArchives(Number(values.count), Number(values.seed));
console.log(`${mutants} mutants, ${accepted} accepted; refused: ${JSON.stringify(refused)}`);
if (differences === null) console.log("There is no python3 to compare with.");
else console.log(`${differences.length} of the accepted are read otherwise by Python.`);
for (const difference of differences ?? []) console.log(difference);
process.exitCode = differences?.length === 0 ? 0 : 1;
