import type { DiscoveryOutcome } from "../durable/discovery-history.ts";

/** Events kept for streams that go on after a pause. */
export const KEPT_EVENTS = 500;
/** Streams of one operator at once; with the next one the oldest ends. */
export const MAX_STREAMS = 4;
/** A stream ends after this long; whoever still watches opens another one, which goes on where it ended. */
export const STREAM_MS = 5 * 60_000;

/** What operators who watch are told of, as it happens; `at` is in epoch milliseconds. No secret and no argument is in it. */
export type LiveEvent =
  /** A row of the audit log: somebody changed something. */
  | {
      readonly type: "audit";
      readonly at: number;
      readonly seq: number;
      readonly actor: string;
      readonly action: string;
      readonly subject: string;
    }
  /** A discovery of an origin ended otherwise than the one before. */
  | ({ readonly type: "discovery"; readonly at: number; readonly origin: string } & DiscoveryOutcome)
  /** An isolate wrote down what it counted: sums of what `GET /usage` has more of now. */
  | { readonly type: "usage"; readonly at: number; readonly calls: number; readonly errors: number };
