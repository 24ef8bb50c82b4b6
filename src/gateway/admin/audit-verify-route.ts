import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { GatewayError } from "../errors.ts";
import type { ChainHead } from "../registry/audit.ts";
import { CHAIN_START, VERIFY_ROWS, verifyChain } from "../registry/audit-verify.ts";
import { noteRow, readNoted } from "../registry/audit-witness.ts";
import { encodeCursor } from "../registry/page.ts";
import type { AdminEnv } from "./environment.ts";
import { cursorOfList, PageQuery, pageRequest } from "./paging.ts";
import { adminRoute } from "./roles.ts";
import { json, Moment, problems } from "./shapes.ts";

const Verification = z
  .object({
    status: z.enum(["intact", "unwitnessed", "broken"]).openapi({
      description:
        "Of the rows of this page, up to `verifiedTo`; follow `nextCursor` for the rest. intact: each is as the witness noted it. unwitnessed: all fit the chain, but the witness did not note those in `unnoted`.",
    }),
    verifiedTo: z.int().openapi({ description: "The last row found to be as it was written; 0: none." }),
    broken: z
      .object({
        seq: z.int(),
        reason: z.enum(["missing_row", "unexpected_row", "broken_link", "changed_row", "other_than_noted"]),
      })
      .nullable()
      .openapi({ description: "The first row that is not as it was written." }),
    head: z
      .object({ seq: z.int(), hash: z.string(), at: Moment, signature: z.string(), publicKey: z.string() })
      .nullable()
      .openapi({
        description:
          "The last row that the witness noted: an Ed25519 signature over the lines `skillgate audit head`, seq, hash and at, joined by line feeds. null: it never noted one.",
      }),
    unnoted: z.array(z.int()).openapi({
      description:
        "Rows of this page that fit the chain without having been noted: written before a crash, while the witness was out of reach, before it existed, or by somebody who writes to the database. Look at them.",
    }),
    nextCursor: z.string().nullable(),
  })
  .openapi("AuditVerification");

const verify = adminRoute({
  role: "viewer",
  method: "get",
  path: "/audit/verify",
  tags: ["audit"],
  summary: "Prove the audit chain",
  description: `${VERIFY_ROWS} rows a page. Every row is compared with its own hash, with the row before, and with what a witness outside of the database noted when it was written; a tail that was cut off is found by the witness's signed head.`,
  request: { query: PageQuery.omit({ limit: true }) },
  responses: { 200: json("What holds.", Verification), ...problems },
});

export function addAuditVerifyRoute(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(verify, async (c) => {
    const { after } = await pageRequest<ChainKey>(c, c.req.valid("query"), isChainKey);
    const from: ChainHead = after === null ? CHAIN_START : { seq: after[0], hash: after[1] };
    const noted = async (afterSeq: number, to: number) => {
      try {
        return await readNoted(c.env, afterSeq, to);
      } catch (cause) {
        throw new GatewayError("policy_unavailable", {
          message: "The witness of the audit chain does not answer.",
          cause,
        });
      }
    };
    const { verified, broken, head, unnoted, isLast } = await verifyChain(c.get("registry"), from, noted);
    // The first use after an upgrade from a version without a witness: from here on nothing of what is there changes unseen.
    if (head === null && isLast && broken === null && verified.seq > 0) await noteRow(c.env, verified, null);
    const status = statusOf(broken !== null, unnoted.length);
    const nextCursor = isLast ? null : await cursorOfList(c, encodeCursor([verified.seq, verified.hash]));
    return c.json({ status, verifiedTo: verified.seq, broken, head, unnoted: [...unnoted], nextCursor }, 200);
  });
}

function statusOf(isBroken: boolean, unnoted: number): "intact" | "unwitnessed" | "broken" {
  if (isBroken) return "broken";
  return unnoted === 0 ? "intact" : "unwitnessed";
}

type ChainKey = readonly [seq: number, hash: string];

function isChainKey(key: unknown): key is ChainKey {
  return (
    Array.isArray(key) &&
    key.length === 2 &&
    Number.isSafeInteger(key[0]) &&
    key[0] > 0 &&
    /^[0-9a-f]{64}$/.test(key[1])
  );
}
