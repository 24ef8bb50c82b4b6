import { z } from "@hono/zod-openapi";
import { RejectionBody } from "./rejection-shape.ts";
import { Moment, OriginId } from "./shapes.ts";
import { SkillState } from "./skill-shape.ts";

const Scope = z.string().nullable();

/** What a probe answers. */
export const ProbeBody = z
  .object({
    id: OriginId,
    origin: z.string(),
    probedAt: Moment.nullable().openapi({
      description: "The recorded probe; where this one failed, the last that did not, or null.",
    }),
    fetchedAt: Moment.nullable().openapi({ description: "When the files were read; null where that failed." }),
    error: z
      .object({ code: z.enum(["discovery_failed", "no_skills"]), message: z.string() })
      .nullable()
      .openapi({ description: "Why the origin could not be discovered; null on success." }),
    skills: z.array(
      z.object({
        scope: Scope,
        name: z.string(),
        publicName: z.string(),
        description: z.string(),
        version: z.string().nullable(),
        toolSha256: z.string(),
        recipeSha256: z.string().nullable().openapi({ description: "Null: the skill is served without a recipe." }),
        recipeVerified: z.boolean().nullable().openapi({
          description: "Whether the publisher declares the recipe's hash; null where there is no recipe.",
        }),
        verdict: z.enum(["attested", "expired", "invalid", "unattested"]).openapi({
          description: "Today, by the publisher's attestations and the gateway's own, whatever the origin's mode.",
        }),
        because: z
          .array(
            z.object({
              attestationId: z.string(),
              attester: z.string().openapi({ example: "human:ada" }),
              signedOn: z.string().openapi({ example: "2026-11-30" }),
              validUntil: z.string(),
              storedAt: Moment.nullable().openapi({ description: "null: the publisher ships it." }),
              reviewerId: z.string().nullable(),
              standing: z.string().openapi({ example: "unknown_attester" }),
              failure: z.object({ code: z.string(), message: z.string() }).nullable(),
            }),
          )
          .openapi({
            description:
              "How each attestation of this version counts today; at most 100. One is revoked by its id at `/revocations`.",
          }),
        state: SkillState,
        approvedAt: Moment.nullable().openapi({ description: "When this very version was approved; null: it is not." }),
        changedSinceApproval: z.boolean().openapi({
          description:
            "Its recipe, description or definition is not what was approved with this hash: approve it again to take it.",
        }),
      }),
    ),
    index: z
      .object({
        code: z.string().openapi({ example: "read" }),
        message: z.string(),
        entries: z.int().openapi({ description: "Entries that were compared with llms.txt." }),
      })
      .nullable()
      .openapi({
        description:
          "What became of /.well-known/agent-skills/index.json: read, absent, or the code of what is odd about it; null where the origin could not be discovered.",
      }),
    rejected: z.array(RejectionBody),
    prose: z.array(z.object({ name: z.string(), description: z.string(), reason: z.string() })),
    memories: z.array(
      z.object({
        scope: Scope,
        sha256: z.string(),
        bytes: z.int(),
        failure: z
          .object({ code: z.string().openapi({ example: "duplicate_id" }), message: z.string() })
          .nullable()
          .openapi({ description: "Why it cannot be searched, although it has its hash; null: it can." }),
      }),
    ),
    attestations: z.int().openapi({ description: "Entries in the publisher's attestations.json." }),
    strayAttestations: z
      .array(
        z.object({
          attestationId: z.string(),
          origin: z.string(),
          skill: z.string(),
          toolSha256: z.string(),
          attester: z.string(),
          signedOn: z.string(),
          validUntil: z.string(),
          storedAt: Moment.nullable(),
        }),
      )
      .openapi({
        description:
          "Attestations, the publisher's and the gateway's own for this origin, that speak of no version found: of an earlier one, or of an origin, name or hash that nobody has here; at most 100.",
      }),
  })
  .openapi("Probe");

export type ProbeAnswer = z.infer<typeof ProbeBody>;
