import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { JsonObject } from "../../core/json.ts";
import type { Acting } from "../registry/database.ts";
import { type Arrival, type IncomingClient, moveIn } from "../registry/moving-in.ts";
import type { AdminContext, AdminEnv } from "./environment.ts";
import { recorded } from "./frame.ts";
import { AUTH_TOKEN_CLIENT, readClients, readOrigins, readReviewers, type Unreadable } from "./reference-values.ts";
import { registrableOrigins } from "./registrable.ts";
import { adminRoute } from "./roles.ts";
import { body, Hash, json, problems } from "./shapes.ts";

const MAX_ORIGINS = 1_000;
const MAX_REVIEWERS = 200;
const MAX_ORIGIN_CHARS = 4_096;

const OBJECT_SENTENCE = "must be a JSON object";
// The members of each are judged one by one: a wrong one is refused by its name and harms no other.
const Members = z.record(z.string(), z.any(), { error: OBJECT_SENTENCE });

const ImportBody = z
  .strictObject({
    clients: Members.optional().openapi({
      description: "CLIENTS: by the SHA-256 of a client's token, `{client_id, rpm?}`.",
    }),
    authTokenSha256: Hash.optional().openapi({
      description: "SHA-256 of AUTH_TOKEN, which itself need not leave its place.",
    }),
    allowedOrigins: z
      .array(
        z
          .string({ error: "must be a string" })
          .max(MAX_ORIGIN_CHARS, { error: `must have at most ${MAX_ORIGIN_CHARS} characters` }),
        {
          error: "must be a list of origins",
        },
      )
      .max(MAX_ORIGINS, { error: `must have at most ${MAX_ORIGINS} origins` })
      .optional()
      .openapi({ description: "ALLOWED_ORIGINS, split at its commas." }),
    reviewers: Members.refine((members) => Object.keys(members).length <= MAX_REVIEWERS, {
      error: `must have at most ${MAX_REVIEWERS} members`,
    })
      .optional()
      .openapi({ description: "REVIEWERS: by attester, `{public_key, registered_at?}`." }),
  })
  .openapi("Import");

const Item = z
  .object({
    name: z.string(),
    status: z.enum(["created", "exists", "refused"]),
    id: z.string().nullable().openapi({ description: "null: refused, or this is a dry run." }),
    code: z.string().nullable(),
    message: z.string().nullable().openapi({ description: "Why it was refused." }),
  })
  .openapi("ImportItem");

const ImportAnswer = z
  .object({
    dryRun: z.boolean(),
    clients: z.array(
      Item.extend({
        rpm: z.int().nullable(),
        newTokens: z.int().openapi({ description: "Tokens that begin to count." }),
      }).openapi("ImportClient"),
    ),
    origins: z.array(Item),
    reviewers: z.array(Item),
  })
  .openapi("ImportAnswer");

const move = adminRoute({
  role: "admin",
  creates: true,
  method: "post",
  path: "/import",
  tags: ["import"],
  summary: "Move in from the reference gateway",
  description:
    "Takes the values of its settings. Clients keep their tokens, whose hashes carry over, and may use every active origin, as there. Origins are pending: probe and activate them. What is here already stays as it is. All that is accepted is written in one transaction; what is refused says why. Problems: `bad_request`.",
  request: {
    query: z.strictObject({
      dryRun: z
        .enum(["true", "false"], { error: "must be true or false" })
        .optional()
        .openapi({
          param: { name: "dryRun", in: "query" },
          description: "true: shows what would happen and changes nothing.",
        }),
    }),
    body: body(ImportBody),
  },
  responses: { 200: json("What became of each, or would.", ImportAnswer), ...problems },
});

export function addImportRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(move, (c) => {
    const dryRun = c.req.valid("query").dryRun === "true";
    const given = c.req.valid("json");
    const clients = withAuthToken(readClients((given.clients ?? {}) as JsonObject), given);
    const origins = readOrigins(given.allowedOrigins ?? [], registrableOrigins(c), isBound(c));
    const reviewers = readReviewers((given.reviewers ?? {}) as JsonObject, Date.now());
    const incoming = { clients: clients.read, origins: origins.read, reviewers: reviewers.read };
    const moveAll = (acting: Acting) => moveIn(c.get("registry"), acting, incoming, dryRun);
    const show = (moved: Awaited<ReturnType<typeof moveIn>>) => ({
      dryRun,
      clients: [
        ...moved.clients.map((arrival, i) => ({
          ...showArrival(clients.read[i]?.name ?? "", arrival),
          rpm: clients.read[i]?.rpm ?? null,
          newTokens: arrival.newTokens,
        })),
        ...clients.unreadable.map((one) => ({ ...showUnreadable(one), rpm: null, newTokens: 0 })),
      ],
      origins: [
        ...moved.origins.map((arrival, i) => showArrival(origins.read[i] ?? "", arrival)),
        ...origins.unreadable.map(showUnreadable),
      ],
      reviewers: [
        ...moved.reviewers.map((arrival, i) => showArrival(reviewers.read[i]?.attester ?? "", arrival)),
        ...reviewers.unreadable.map(showUnreadable),
      ],
    });
    return recorded(c, moveAll, show);
  });
}

interface Clients {
  readonly read: readonly IncomingClient[];
  readonly unreadable: readonly Unreadable[];
}

/** Where CLIENTS was set the old gateway ignored AUTH_TOKEN: moving that in would let in whom it kept out. */
function withAuthToken(
  { read, unreadable }: Clients,
  { clients, authTokenSha256 }: { readonly clients?: unknown; readonly authTokenSha256?: string | undefined },
): Clients {
  if (authTokenSha256 === undefined) return { read, unreadable };
  if (clients !== undefined) {
    const message = "The old gateway ignored AUTH_TOKEN because CLIENTS was set.";
    return { read, unreadable: [...unreadable, { name: AUTH_TOKEN_CLIENT, code: "unused", message }] };
  }
  return { read: [...read, { name: AUTH_TOKEN_CLIENT, rpm: null, tokens: [authTokenSha256] }], unreadable };
}

function isBound(c: AdminContext): (origin: string) => boolean {
  const { serviceOrigins } = c.get("settings");
  return (origin) => serviceOrigins.has(new URL(origin).origin);
}

function showArrival(name: string, arrival: Arrival) {
  const { status } = arrival;
  if (arrival.status === "refused") return { name, status, id: null, code: arrival.code, message: arrival.message };
  return { name, status, id: arrival.id, code: null, message: null };
}

function showUnreadable({ name, code, message }: Unreadable) {
  return { name, status: "refused" as const, id: null, code, message };
}
