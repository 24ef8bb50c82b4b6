import type { OpenAPIHono } from "@hono/zod-openapi";
import { VERSION } from "../../core/version.ts";
import type { AdminEnv } from "./environment.ts";

const DESCRIPTION = `Times are epoch milliseconds. Lists are pages in a fixed order: pass \`nextCursor\` as \`cursor\`, with the same filters (of another list, or with others, it is refused: \`bad_cursor\`), until it is null.

Who is signed in has a role, \`viewer\`, \`reviewer\` or \`admin\`; each may do what the ones before it may, and every route says which it needs. A route that takes \`If-Match\` is refused where the row is no more as it was read: its \`ETag\` covers all members but \`lastCalledAt\`. A route that takes \`Idempotency-Key\` does the same request once in 24 hours and answers it again with \`Idempotent-Replayed: true\`; an answer that showed a secret is not shown again (\`already_exists\`), and another request under the same key is \`idempotency_mismatch\`.

Errors are RFC 9457 problems; besides those a route names, any may answer \`bad_request\`, \`bad_cursor\`, \`bad_json\`, \`unauthorized\`, \`role_forbidden\`, \`csrf\`, \`not_found\`, \`method_not_allowed\`, \`too_large\`, \`unsupported_media_type\`, \`rate_limited\`, \`internal\`, \`busy\`, \`policy_unavailable\` and \`bad_setting\`.`;

/** The OpenAPI 3.1 document of the routes registered so far. */
export function openApiDocument(app: OpenAPIHono<AdminEnv>) {
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { title: "Skillgate admin API", version: VERSION, license: { name: "MIT" }, description: DESCRIPTION },
    servers: [{ url: "/admin/api/v1" }],
    security: [{ bearer: [] }, { session: [] }, { access: [] }],
  });
}

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** Ways to sign in. */
export function describeSecurity({ openAPIRegistry }: OpenAPIHono<AdminEnv>): void {
  openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description: "An operator's token, or ADMIN_TOKEN until it is retired.",
  });
  openAPIRegistry.registerComponent("securitySchemes", "session", {
    type: "apiKey",
    in: "cookie",
    name: "__Host-skillgate-session",
    description:
      "From `POST /session`. Changes need its `csrfToken` as `X-CSRF-Token`, from a page of the same web origin.",
  });
  openAPIRegistry.registerComponent("securitySchemes", "access", {
    type: "apiKey",
    in: "header",
    name: "Cf-Access-Jwt-Assertion",
    description:
      "Set by Cloudflare Access, where the gateway is told its team and audience. Changes need the `csrfToken` of `GET /session`.",
  });
}
