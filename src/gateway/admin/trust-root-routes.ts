import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { readTrustRoot, type TrustRoot } from "../../core/attestation/trust-root.ts";
import type { JsonObject } from "../../core/json.ts";
import { readTrustRootInForce, setTrustRoot, type TrustRootInForce } from "../registry/trust.ts";
import type { AdminContext, AdminEnv } from "./environment.ts";
import { changed, one } from "./frame.ts";
import { Problem } from "./problem.ts";
import { adminRoute } from "./roles.ts";
import { body, Moment, problems, row } from "./shapes.ts";

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
const answer = row("The trust root in force.", TrustRootBody);

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/trust-root",
  tags,
  summary: "Read the Sigstore trust root in force",
  responses: { 200: answer, ...problems },
});

const replace = adminRoute({
  role: "admin",
  conditional: true,
  method: "put",
  path: "/trust-root",
  tags,
  summary: "Replace the Sigstore trust root",
  description:
    "With a `trusted_root.json`. All bundles are judged by it from then on, within 5 seconds. Problems: `bad_request`, `bad_trust_root`.",
  request: { body: body(Root) },
  responses: { 200: answer, ...problems },
});

const reset = adminRoute({
  role: "admin",
  conditional: true,
  method: "delete",
  path: "/trust-root",
  tags,
  summary: "Go back to the embedded Sigstore trust root",
  responses: { 200: answer, ...problems },
});

export function addTrustRootRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(read, async (c) => one(c, await readTrustRootInForce(c.get("registry")), showTrustRoot));
  app.openapi(replace, async (c) => {
    const given = await readTrustRoot(c.req.valid("json") as JsonObject);
    if (!given.ok)
      throw new Problem("bad_trust_root", {
        detail: given.message,
        errors: [{ field: "body", message: given.message }],
      });
    return setTo(c, given.trustRoot);
  });
  app.openapi(reset, (c) => setTo(c, null));
}

function setTo(c: AdminContext, trustRoot: TrustRoot | null) {
  const registry = c.get("registry");
  return changed(
    c,
    () => readTrustRootInForce(registry),
    (acting) => setTrustRoot(registry, acting, trustRoot),
    showTrustRoot,
  );
}

function showTrustRoot({ trustRoot, setAt }: TrustRootInForce) {
  const source: "embedded" | "operator" = setAt === null ? "embedded" : "operator";
  return { id: trustRoot.id, source, setAt, trustRoot: { ...trustRoot.json } };
}
