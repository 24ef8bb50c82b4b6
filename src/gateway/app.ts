import { Hono } from "hono";
import { createAdminApp } from "./admin/app.ts";
import { answerProblem } from "./admin/problem.ts";
import { requireOperator } from "./admin/sign-in.ts";
import { adminHost } from "./admin-host.ts";
import { addHeaders } from "./answer-headers.ts";
import { authenticate } from "./auth/authenticate.ts";
import { browserOrigins } from "./cors.ts";
import { dashboard } from "./dashboard.ts";
import { demo, notOnAdminHost } from "./demo.ts";
import { GatewayError } from "./errors.ts";
import { healthz, readyz } from "./health.ts";
import {
  admitSkills,
  chooseOrigin,
  confirmAccess,
  fetchRelease,
  limitCalls,
  limitGas,
  limitOrigin,
  readMessage,
  requireGrant,
  serveMcp,
} from "./mcp.ts";
import { metrics } from "./metrics/metrics.ts";
import { answerStream, asksForStream } from "./notifications/listen.ts";
import { hostedByHost, hostedByPath } from "./publishing/hosted.ts";
import { SITES_PATH } from "./publishing/site-address.ts";
import {
  answerError,
  findSettings,
  type GatewayContext,
  type GatewayMiddleware,
  requireSettings,
  trackRequest,
} from "./request-context.ts";
import { inOrder, type Step, timed } from "./steps.ts";
import { welcome } from "./welcome.ts";

const ADMIN_API = "/admin/api/v1";
/** The admin API's own sign-in, which needs no more of the context than every request has. */
const operators = requireOperator() as unknown as GatewayMiddleware;

/** Every route of the gateway, and for each the steps of a request in the order in which they run. */
export function createApp(): Hono<GatewayContext> {
  const app = new Hono<GatewayContext>();
  app.get(
    "/mcp/*",
    inOrder(
      findSettings,
      browserOrigins,
      requireStream,
      timed("auth", authenticate),
      timed("limiter", limitCalls),
      chooseOrigin,
      timed("policy", requireGrant),
      limitOrigin,
      timed("serve", answerStream),
    ),
  );
  app.all(
    "/mcp/*",
    inOrder(
      findSettings,
      browserOrigins,
      requirePost,
      timed("auth", authenticate),
      timed("limiter", limitCalls),
      timed("body", readMessage),
      limitGas,
      chooseOrigin,
      timed("policy", requireGrant),
      limitOrigin,
      timed("release", fetchRelease),
      confirmAccess,
      admitSkills,
      timed("serve", serveMcp),
    ),
  );
  let others: Hono<GatewayContext> | null = null;
  app.notFound((c) => {
    others ??= createOtherRoutes();
    return others.fetch(c.req.raw, c.env, c.executionCtx);
  });
  return app;
}

/**
 * What is not called a thousand times a second goes through middleware, and is made when it is first asked for: the admin API's routes take
 * time to make, and each collection of garbage looks at all that is there.
 */
function createOtherRoutes(): Hono<GatewayContext> {
  const app = new Hono<GatewayContext>();
  app.onError((error, c) => (isAdminApi(c.req.path) ? answerProblem(error, c) : answerError(error, c)));
  app.notFound((c) => answerError(new GatewayError("not_found"), c));

  app.use(trackRequest);
  app.use(addHeaders);

  app.get("/healthz", route("/healthz"), healthz);
  app.all("/healthz", only("GET, HEAD"));
  app.get("/readyz", route("/readyz"), readyz);
  app.all("/readyz", only("GET, HEAD"));

  app.use(requireSettings);

  app.use(hostedByHost);
  app.all(`${SITES_PATH}*`, hostedByPath);

  app.get("/", route("/"), welcome);
  app.all("/", only("GET, HEAD"));

  app.use("/demo", route("/demo"), notOnAdminHost);
  app.use("/demo/*", route("/demo"), notOnAdminHost);
  app.get("/demo", demo);
  app.get("/demo/*", demo);
  app.all("/demo", only("GET, HEAD"));
  app.all("/demo/*", only("GET, HEAD"));

  app.use("/metrics", route("/metrics"), adminHost);
  app.get("/metrics", operators, metrics);
  app.all("/metrics", only("GET, HEAD"));

  app.use("/admin/*", route("/admin/*"), adminHost);
  app.route(ADMIN_API, createAdminApp());
  app.get("/admin", dashboard);
  app.get("/admin/*", dashboard);
  app.all("/admin/*", only("GET, HEAD"));

  return app;
}

/** The admin API answers RFC 9457 problems, also where the gateway refuses before it is reached. */
function isAdminApi(path: string): boolean {
  return path === ADMIN_API || path.startsWith(`${ADMIN_API}/`);
}

/** Names the route in the log. */
function route(pattern: string): GatewayMiddleware {
  return async (c, next) => {
    c.get("log").route = pattern;
    await next();
  };
}

/** Refuses what no route before it took. */
function only(allow: string): GatewayMiddleware {
  return async () => {
    throw wrongMethod(allow);
  };
}

const requirePost: Step = (c) => {
  if (c.req.method === "POST") return undefined;
  throw wrongMethod(c.get("settings").notifications ? "GET, POST, OPTIONS" : "POST, OPTIONS");
};

/** Any other GET is refused as if there were no streams: clients then do without. */
const requireStream: Step = (c) => {
  if (asksForStream(c)) return undefined;
  throw wrongMethod("POST, OPTIONS");
};

function wrongMethod(allow: string): GatewayError {
  return new GatewayError("method_not_allowed", { message: `This address answers ${allow} only.`, allow });
}
