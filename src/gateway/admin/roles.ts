import { createRoute, type OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { ROLES, type Role } from "../registry/operators.ts";
import type { AdminEnv } from "./environment.ts";
import { problemResponse } from "./problem.ts";

/** The least role that may use a route; `anyone`: also who is not signed in. */
export type Access = Role | "anyone";

/** Member of an operation in the OpenAPI document. */
const ACCESS = "x-skillgate-role";

const KEY_SENTENCE = "must be 1 to 255 visible ASCII characters";
const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, { error: KEY_SENTENCE })
  .optional()
  .openapi({
    param: { in: "header" },
    description: "For 24 hours the same request with the same key is answered as the first one was.",
  });
const IfMatch = z
  .string()
  .max(1_024, { error: "must have at most 1024 characters" })
  .optional()
  .openapi({
    param: { in: "header" },
    description: "The `ETag` it was read with: refused with `precondition_failed` where it changed since.",
  });

interface AdminRoute extends Omit<RouteConfig, "path" | "middleware"> {
  readonly role: Access;
  /** Answered by {@link created}: takes `Idempotency-Key`. */
  readonly creates?: true;
  /** Answered by {@link changed}: takes `If-Match`. */
  readonly conditional?: true;
}

/**
 * A route of the admin API, with who may use it.
 *
 * @example
 * const read = adminRoute({ role: "viewer", method: "get", path: "/origins/{id}", … });
 */
export function adminRoute<P extends string, R extends AdminRoute & { readonly path: P }>(config: R) {
  const { role, creates, conditional, ...route } = config;
  const headers = {
    ...(creates === undefined ? {} : { "idempotency-key": IdempotencyKey }),
    ...(conditional === undefined ? {} : { "if-match": IfMatch }),
  };
  const request = Object.keys(headers).length === 0 ? route.request : { ...route.request, headers: z.object(headers) };
  const needed = role === "anyone" ? "Needs no sign-in." : `Needs the role \`${role}\`.`;
  return createRoute({
    ...route,
    ...(request === undefined ? {} : { request }),
    description: [route.description, needed].filter((text) => text !== undefined).join(" "),
    [ACCESS]: role,
    ...(role === "anyone" ? { security: [] } : { middleware: requireRole(role) }),
  } as unknown as R) as ReturnType<typeof createRoute<P, R>>;
}

/** 403 `role_forbidden` for an operator whose role is too low: before anything else of the request is judged. */
export function requireRole(role: Role): MiddlewareHandler<AdminEnv> {
  return async (c, next) => {
    const { operator } = c.get("signedIn");
    if (ROLES.indexOf(operator.role) < ROLES.indexOf(role)) {
      return problemResponse(c, "role_forbidden", {
        detail: `This needs the role ${role}; ${operator.name} is ${operator.role}.`,
      });
    }
    return next();
  };
}

/** Who may use each route, as `METHOD /path/{id}`. @throws where a route does not say: the gateway then does not start. */
export function accessTable({ openAPIRegistry }: OpenAPIHono<AdminEnv>): ReadonlyMap<string, Access> {
  const table = new Map<string, Access>();
  for (const definition of openAPIRegistry.definitions) {
    if (definition.type !== "route") continue;
    const { method, path, [ACCESS]: role } = definition.route as typeof definition.route & { [ACCESS]?: Access };
    const name = `${method.toUpperCase()} ${path}`;
    if (role === undefined) throw new Error(`The route ${name} does not say who may use it.`);
    table.set(name, role);
  }
  return table;
}
