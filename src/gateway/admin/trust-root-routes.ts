import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi";
import { readTrustRoot } from "../../core/attestation/trust-root.ts";
import type { JsonObject } from "../../core/json.ts";
import { forgetPolicy } from "../auth/policy.ts";
import { readTrustRootInForce, setTrustRoot, type TrustRootInForce } from "../registry/trust.ts";
import { type AdminEnv, actingNow } from "./environment.ts";
import { Problem } from "./problem.ts";
import { body, json, Moment, problems } from "./shapes.ts";

const Root = z.record(z.string(), z.any(), { error: "must be a JSON object" });

const TrustRootBody = z
  .object({
    id: z.string().openapi({ description: "SHA-256 of its canonical JSON." }),
    source: z.enum(["embedded", "operator"]),
    setAt: Moment.nullable().openapi({ description: "When an operator set it." }),
    trustRoot: Root.openapi({ description: "`application/vnd.dev.sigstore.trustedroot+json`" }),
  })
  .openapi("TrustRoot");

const tags = ["trust root"];
const answer = json("The trust root in force.", TrustRootBody);

const read = createRoute({
  method: "get",
  path: "/trust-root",
  tags,
  summary: "Read the Sigstore trust root in force",
  responses: { 200: answer, ...problems },
});

const replace = createRoute({
  method: "put",
  path: "/trust-root",
  tags,
  summary: "Replace the Sigstore trust root",
  description:
    "With a `trusted_root.json`. All bundles are judged by it from then on, within 5 seconds. Problems: `bad_request`, `bad_trust_root`.",
  request: { body: body(Root) },
  responses: { 200: answer, ...problems },
});

const reset = createRoute({
  method: "delete",
  path: "/trust-root",
  tags,
  summary: "Go back to the embedded Sigstore trust root",
  responses: { 200: answer, ...problems },
});

export function addTrustRootRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(read, async (c) => c.json(showTrustRoot(await readTrustRootInForce(c.get("registry"))), 200));
  app.openapi(replace, async (c) => {
    const given = await readTrustRoot(c.req.valid("json") as JsonObject);
    if (!given.ok) throw new Problem("bad_trust_root", { detail: given.message });
    const inForce = await setTrustRoot(c.get("registry"), actingNow(c), given.trustRoot);
    forgetPolicy();
    return c.json(showTrustRoot(inForce), 200);
  });
  app.openapi(reset, async (c) => {
    const inForce = await setTrustRoot(c.get("registry"), actingNow(c), null);
    forgetPolicy();
    return c.json(showTrustRoot(inForce), 200);
  });
}

function showTrustRoot({ trustRoot, setAt }: TrustRootInForce) {
  const source: "embedded" | "operator" = setAt === null ? "embedded" : "operator";
  return { id: trustRoot.id, source, setAt, trustRoot: { ...trustRoot.json } };
}
