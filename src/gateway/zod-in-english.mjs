// What the package `zod` exports, but for `locales`, its messages in sixty languages (265 kB that nothing here says), and what nothing here uses.
// wrangler.toml gives this file to whoever imports "zod" in the bundle; the package's own way to leave them out (tree shaking)
// ends at @hono/zod-openapi, which hands the whole of `z` on.
import * as z from "./zod-in-english.mjs";

export * from "../../node_modules/zod/v4/classic/checks.js";
export * as coerce from "../../node_modules/zod/v4/classic/coerce.js";
export * from "../../node_modules/zod/v4/classic/compat.js";
export * from "../../node_modules/zod/v4/classic/errors.js";
export * as iso from "../../node_modules/zod/v4/classic/iso.js";
export * from "../../node_modules/zod/v4/classic/parse.js";
export * from "../../node_modules/zod/v4/classic/schemas.js";
export {
  $brand,
  $input,
  $output,
  clone,
  config,
  flattenError,
  formatError,
  globalRegistry,
  NEVER,
  prettifyError,
  regexes,
  registry,
  TimePrecision,
  treeifyError,
  util,
} from "../../node_modules/zod/v4/core/index.js";
export { toJSONSchema } from "../../node_modules/zod/v4/core/json-schema-processors.js";
export { z, z as default };
