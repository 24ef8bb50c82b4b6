export { isDeepStrictEqual } from "node:util";
