import { join } from "node:path";

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, "../../..");

/** Everything a local run leaves behind; ignored by git. */
export const DEV_FOLDER = join(ROOT, ".dev");

/** The file in which scripts find the running gateway: `{url, adminToken, clientToken, origins}`. */
export const CONNECTION_FILE = "skillgate.json";
