import { z } from "@hono/zod-openapi";
import type { Rejection } from "../../core/discovery/release.ts";

/** What a discovery left out, and why. */
export const RejectionBody = z
  .object({
    scope: z.string().nullable(),
    name: z.string(),
    subject: z.enum(["skill", "recipe", "memory", "index", "attestations"]),
    code: z.string().openapi({ example: "hash_mismatch" }),
    message: z.string(),
    fetch: z
      .object({ url: z.string(), status: z.int().nullable().openapi({ description: "null: there was no answer." }) })
      .nullable()
      .openapi({ description: "The fetch in which it failed; null: in none." }),
  })
  .openapi("Rejection");

export function showRejection({ scope, name, subject, code, message, fetch }: Rejection) {
  return { scope, name, subject, code, message, fetch: fetch === undefined ? null : { ...fetch } };
}
