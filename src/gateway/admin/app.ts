import { type Hook, OpenAPIHono } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { FetchImplementation } from "jose";
import { openRegistry } from "../registry/database.ts";
import { probeOrigin } from "../releases/hub-client.ts";
import { accessVerifier } from "./access-jwt.ts";
import { addAttestationRoutes } from "./attestation-routes.ts";
import { addAuditRoutes } from "./audit-routes.ts";
import { addAuditVerifyRoute } from "./audit-verify-route.ts";
import { addBootstrapRoutes } from "./bootstrap-routes.ts";
import { addClientRoutes } from "./client-routes.ts";
import { addClientRulesRoutes } from "./client-rules-routes.ts";
import { docsPage, docsPolicy } from "./docs-page.ts";
import { describeSecurity, type OpenApiDocument, openApiDocument } from "./document.ts";
import type { AdminEnv } from "./environment.ts";
import { addEventRoutes } from "./event-routes.ts";
import { addHealthRoutes } from "./health-routes.ts";
import { addImportRoutes } from "./import-routes.ts";
import { invalidRequest } from "./invalid-request.ts";
import { addOperatorRoutes } from "./operator-routes.ts";
import { addOriginRoutes } from "./origin-routes.ts";
import type { Prober } from "./probe.ts";
import { answerProblem, Problem, problemResponse } from "./problem.ts";
import { addReleaseRoutes } from "./release-routes.ts";
import { addReviewerRoutes } from "./reviewer-routes.ts";
import { addRevocationRoutes } from "./revocation-routes.ts";
import { accessTable, requireRole } from "./roles.ts";
import { addSessionRoutes, addSignInRoute } from "./session-routes.ts";
import { requireOperator } from "./sign-in.ts";
import { addSiteRoutes } from "./site-routes.ts";
import { addSiteVersionRoutes, MAX_BLOB_BYTES, MAX_PUBLICATION_BYTES } from "./site-version-routes.ts";
import { addSkillQueueRoute } from "./skill-queue-route.ts";
import { addSkillRoutes } from "./skill-routes.ts";
import { addTokenRoutes } from "./token-routes.ts";
import { addTrustRootRoutes } from "./trust-root-routes.ts";
import { addUsageRoutes } from "./usage-routes.ts";
import { addVerdictRoutes } from "./verdict-routes.ts";

/** Largest request body: room for an `attestations.json` as large as a publisher's may be. */
export const MAX_ADMIN_BODY_BYTES = 256 * 1024;

export interface AdminOptions {
  /** How an origin is discovered afresh. Default: by its hub. */
  readonly prober?: Prober;
  /** How the keys of Cloudflare Access are fetched. */
  readonly fetchAccessKeys?: FetchImplementation;
}

/**
 * The operator API, to be mounted at `/admin/api/v1` of the gateway, which has checked the settings by then and given the
 * request its id. Every answer that is no success is an RFC 9457 problem with a `code`;
 * nothing of it may be stored by caches, and no web page of another origin may read it (no CORS).
 *
 * Order: sign-in → method → body size → role → route. Nothing, the OpenAPI document included, is shown before sign-in.
 */
export function createAdminApp({
  prober = probeOrigin,
  fetchAccessKeys = fetch,
}: AdminOptions = {}): OpenAPIHono<AdminEnv> {
  const app = new OpenAPIHono<AdminEnv>({ defaultHook: invalidRequest as Hook<unknown, AdminEnv, string, unknown> });
  app.onError(answerProblem);

  app.use(async (c, next) => {
    c.header("Cache-Control", "no-store");
    c.header("X-Content-Type-Options", "nosniff");
    c.set("registry", openRegistry(c.env.DB));
    return next();
  });
  addSignInRoute(app);
  app.use(requireOperator(accessVerifier(fetchAccessKeys)));
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) =>
        problemResponse(c, "method_not_allowed", { headers: { Allow: methods.join(", ") } }),
    }),
  );
  app.use(boundedBody);
  app.use(emptyBodyIsNone);

  addOriginRoutes(app, prober);
  addSkillRoutes(app);
  addSkillQueueRoute(app);
  addVerdictRoutes(app);
  addReviewerRoutes(app);
  addAttestationRoutes(app);
  addRevocationRoutes(app);
  addTrustRootRoutes(app);
  addClientRoutes(app);
  addClientRulesRoutes(app);
  addTokenRoutes(app);
  addReleaseRoutes(app);
  addHealthRoutes(app);
  addUsageRoutes(app);
  addEventRoutes(app);
  addSiteRoutes(app);
  addSiteVersionRoutes(app);
  addImportRoutes(app);
  addAuditVerifyRoute(app);
  addAuditRoutes(app);
  addSessionRoutes(app);
  addOperatorRoutes(app);
  addBootstrapRoutes(app);
  accessTable(app);

  describeSecurity(app);
  let document: OpenApiDocument | undefined;
  app.get("/openapi.json", requireRole("viewer"), (c) => {
    document ??= openApiDocument(app);
    return c.json(document);
  });
  app.get("/docs", requireRole("viewer"), async (c) => {
    document ??= openApiDocument(app);
    c.header("Content-Security-Policy", await docsPolicy());
    return c.html(docsPage(document));
  });
  app.all("*", (c) => problemResponse(c, "not_found"));
  return app;
}

function bodyOfAtMost(maxSize: number): MiddlewareHandler<AdminEnv> {
  return bodyLimit({
    maxSize,
    onError: () => {
      const errors = [{ field: "body", message: `must have at most ${maxSize} bytes` }];
      throw new Problem("too_large", { detail: `The body has more than ${maxSize} bytes.`, errors });
    },
  });
}

const UPLOAD = /\/sites\/[^/]+\/blobs$/;
const PUBLICATION = /\/sites\/[^/]+\/versions$/;
const BODIES = {
  upload: bodyOfAtMost(MAX_BLOB_BYTES),
  publication: bodyOfAtMost(MAX_PUBLICATION_BYTES),
  other: bodyOfAtMost(MAX_ADMIN_BODY_BYTES),
};

const boundedBody: MiddlewareHandler<AdminEnv> = (c, next) => {
  const { path } = c.req;
  const kind = UPLOAD.test(path) ? "upload" : PUBLICATION.test(path) ? "publication" : "other";
  return BODIES[kind](c, next);
};

/** Many callers name a media type with every request: with an empty body it says nothing, and is no malformed JSON. */
const emptyBodyIsNone: MiddlewareHandler<AdminEnv> = async (c, next) => {
  // The bytes of an upload are no text.
  const isUpload = UPLOAD.test(c.req.path);
  if (!isUpload && c.req.header("Content-Type") !== undefined && (await c.req.text()) === "") {
    const headers = new Headers(c.req.raw.headers);
    headers.delete("Content-Type");
    c.req.raw = new Request(c.req.url, { method: c.req.method, headers });
  }
  await next();
};
