import type { SkillId } from "../skill.ts";
import type { RejectionCode } from "./release.ts";

/** What a discovery tells while it runs, for people who watch. */
export type DiscoveryProgress =
  | {
      readonly kind: "fetch";
      readonly url: string;
      /** HTTP status of the last answer; `null`: there was none. */
      readonly status: number | null;
      /** `null`: the file could not be had. */
      readonly bytes: number | null;
      readonly ms: number;
      /** Why the file could not be had. */
      readonly code: RejectionCode | null;
    }
  | ({
      readonly kind: "hash";
      /** What the file is called in sentences, such as `tool.js`. */
      readonly file: string;
      readonly ok: boolean;
      readonly expected: string;
      readonly actual: string;
    } & SkillId);
