import { z } from "@hono/zod-openapi";
import { idPattern } from "../registry/ids.ts";

const MAX_NAME_CHARS = 100;
const MAX_NOTE_CHARS = 1_000;
export const MAX_RPM = 1_000_000;
const MAX_DAILY_QUOTA = 1_000_000_000;
const MAX_GRANTS = 500;

/** Control characters, lone surrogates, line and paragraph separators, and marks that reorder text. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff]/u;

/** A name of these alone looks like none: marks without a letter, spaces, and what is defined to be invisible. */
const NOTHING_VISIBLE = /^[\p{Default_Ignorable_Code_Point}\p{M}\p{Z}\p{C}\u2800]+$/u;

export const Moment = z.int().min(0).openapi({ description: "Epoch milliseconds.", example: 1_780_000_000_000 });

export const OriginId = z.string().regex(idPattern("org")).openapi({ example: "org_0123456789abcdef01234567" });
export const ClientId = z.string().regex(idPattern("cli")).openapi({ example: "cli_0123456789abcdef01234567" });
export const TokenId = z.string().regex(idPattern("tok")).openapi({ example: "tok_0123456789abcdef01234567" });
export const ReviewerId = z.string().regex(idPattern("rev")).openapi({ example: "rev_0123456789abcdef01234567" });
export const RevocationId = z.string().regex(idPattern("rvk")).openapi({ example: "rvk_0123456789abcdef01234567" });
export const OperatorId = z.string().regex(idPattern("opr")).openapi({ example: "opr_0123456789abcdef01234567" });
export const OperatorTokenId = z.string().regex(idPattern("opt")).openapi({ example: "opt_0123456789abcdef01234567" });

/** The path of whatever belongs to one origin. */
export const ofOrigin = z.object({ id: OriginId.openapi({ param: { name: "id", in: "path" } }) });

/** A name that people read: trimmed, without characters that hide or reorder text. */
export const Name = z
  .string({ error: "must be a string" })
  .trim()
  .min(1, { error: "must not be empty" })
  .max(MAX_NAME_CHARS, { error: `must have at most ${MAX_NAME_CHARS} characters` })
  .refine((name) => !UNPRINTABLE.test(name), {
    error: "must not contain control or text-direction characters",
    abort: true,
  })
  .refine((name) => !NOTHING_VISIBLE.test(name), { error: "must have a visible character" })
  .openapi({ example: "Support desk" });

/** What an operator writes for other operators, of any number of lines. */
export const Note = z
  .string({ error: "must be a string" })
  .trim()
  .max(MAX_NOTE_CHARS, { error: `must have at most ${MAX_NOTE_CHARS} characters` })
  .refine((note) => !UNPRINTABLE.test(note.replace(/[\t\r\n]/g, "")), {
    error: "must not contain control or text-direction characters",
    abort: true,
  });

export const Reason = Note.min(1, { error: "must say why" }).refine((reason) => !NOTHING_VISIBLE.test(reason), {
  error: "must say why",
});

export const Hash = z
  .string({ error: "must be a string" })
  .regex(/^[0-9a-f]{64}$/, { error: "must be 64 lower-case hexadecimal digits" });

const whole = (max: number) => {
  const sentence = `must be null or a whole number from 0 to ${max}`;
  return z.int({ error: sentence }).min(0, { error: sentence }).max(max, { error: sentence }).nullable();
};

/** Whether a client's calls a minute may be limited to this. */
export function isSettable(rpm: number): boolean {
  return Number.isInteger(rpm) && rpm >= 0 && rpm <= MAX_RPM;
}

export const Rpm = whole(MAX_RPM).openapi({ description: "Calls a minute; 0 blocks, null is unlimited.", example: 60 });
export const DailyQuota = whole(MAX_DAILY_QUOTA).openapi({
  description: "Calls a UTC day; 0 blocks, null is unlimited.",
  example: null,
});

const GrantedId = z.string().regex(idPattern("org"), { error: "must be the id of an origin" });
const GRANTS_SENTENCE = `must be "all" or a list of at most ${MAX_GRANTS} origin ids`;

export const Grants = z
  .union([z.literal("all"), z.array(GrantedId).max(MAX_GRANTS)], { error: GRANTS_SENTENCE })
  .openapi({ description: '"all": every active origin, present and future; else ids of origins.', example: "all" });

/** A query parameter that may be left out. */
export function queryText(name: string, maxChars: number, description: string) {
  return z
    .string({ error: "must be given once" })
    .min(1, { error: "must not be empty" })
    .max(maxChars, { error: `must have at most ${maxChars} characters` })
    .optional()
    .openapi({ param: { name, in: "query" }, description });
}

/** One of some words, as a query parameter that may be left out. */
export function queryWord<const T extends readonly [string, ...string[]]>(
  name: string,
  words: T,
  description?: string,
) {
  return z
    .enum(words, { error: `must be one of ${words.join(", ")}` })
    .optional()
    .openapi({ param: { name, in: "query" }, ...(description === undefined ? {} : { description }) });
}

const MOMENT_SENTENCE = "must be epoch milliseconds";

/** Epoch milliseconds, as a query parameter that may be left out. */
export function queryMoment(name: string, description: string) {
  return z
    .string({ error: MOMENT_SENTENCE })
    .regex(/^(?:0|[1-9]\d{0,15})$/, { error: MOMENT_SENTENCE })
    .transform(Number)
    .refine(Number.isSafeInteger, { error: MOMENT_SENTENCE })
    .optional()
    .openapi({ param: { name, in: "query" }, type: "integer", description });
}

/** Part of a name or address, in any case. */
export const Sought = queryText(
  "q",
  200,
  "Only those whose name or address holds this text, in any case. No index knows that: the list, as the other filters leave it, is read until a page is full.",
);

export const ProblemBody = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().openapi({ example: "bad_request" }),
    id: z.string().optional().openapi({ description: "The row that stands in the way." }),
    errors: z.array(z.object({ field: z.string(), message: z.string(), reason: z.string().optional() })).optional(),
    requestId: z.string(),
  })
  .openapi("Problem");

/** Every route may answer a problem; which codes, its description says. */
export const problems = {
  default: {
    description: "A problem (RFC 9457). `code` says which.",
    content: { "application/problem+json": { schema: ProblemBody } },
  },
} as const;

export function json<T extends z.ZodType>(description: string, schema: T) {
  return { description, content: { "application/json": { schema } } };
}

/** As {@link json}, of one row with its `ETag`: what `one`, `changed` and `created` of the frame answer. */
export function row<T extends z.ZodType>(description: string, schema: T) {
  const etag = { schema: { type: "string" as const }, description: "Names the row as it is now, for `If-Match`." };
  return { ...json(description, schema), headers: { ETag: etag } };
}

/** A JSON body that must be there. */
export function body<T extends z.ZodType>(schema: T) {
  return { required: true, content: { "application/json": { schema } } };
}
