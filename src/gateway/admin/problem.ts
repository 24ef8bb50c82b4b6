import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { PublicationError } from "../../core/agent-skills/publication-error.ts";
import { ArchiveError } from "../../core/archive/archive.ts";
import { OriginError } from "../../core/origin.ts";
import { ERRORS, GatewayError, type GatewayErrorCode } from "../errors.ts";
import { BatchFailed, isDatabaseDown } from "../registry/database-failure.ts";
import { RegistryError, type RegistryErrorCode } from "../registry/errors.ts";
import type { RequestVariables } from "../request-context.ts";

/** A request of which no more is known than that it is tracked: the settings may be bad, and nobody signed in. */
type ProblemContext = Pick<Context, "body"> & { readonly var: Readonly<Pick<RequestVariables, "log" | "requestId">> };

/** Codes that only the admin API has. */
type AdminOnlyCode =
  | "bad_request"
  | "bad_cursor"
  | "bad_trust_root"
  | "bad_publication"
  | "site_full"
  | "service_binding_unconfirmed"
  | "role_forbidden"
  | "csrf"
  | "precondition_failed"
  | "idempotency_mismatch"
  | Exclude<RegistryErrorCode, GatewayErrorCode>;
export type ProblemCode = GatewayErrorCode | AdminOnlyCode;

interface ProblemKind {
  readonly status: ContentfulStatusCode;
  /** RFC 9457 `title`: the same for every problem of this code. */
  readonly title: string;
  /** Seconds. */
  readonly retryAfter?: number;
}

const ADMIN_ONLY: Readonly<Record<AdminOnlyCode, ProblemKind>> = {
  bad_request: { status: 400, title: "A parameter or a member of the body is not valid." },
  bad_cursor: { status: 400, title: "The cursor is not of this list with these filters." },
  bad_trust_root: { status: 400, title: "It is no Sigstore trust root." },
  bad_publication: { status: 400, title: "A part of the publication must not be published." },
  role_forbidden: { status: 403, title: "The operator's role does not allow this." },
  csrf: { status: 403, title: "The request does not prove that it comes from the console's own page." },
  precondition_failed: { status: 412, title: "It changed since it was read." },
  idempotency_mismatch: { status: 422, title: "The Idempotency-Key was used for another request." },
  unknown_origin: { status: 400, title: "A grant names an origin that is not registered." },
  service_binding_unconfirmed: {
    status: 409,
    title: "The origin is reached through a service binding, which an operator must confirm.",
  },
  already_exists: { status: 409, title: "It exists already." },
  bad_state: { status: 409, title: "The present state does not allow this step." },
  probe_changed: { status: 409, title: "The origin's skills are not the ones that were probed." },
  unknown_version: { status: 409, title: "No probe saw this version of the skill, or it is forgotten." },
  not_stored: { status: 409, title: "The bytes of this version are not kept." },
  hash_revoked: { status: 409, title: "The hash is revoked; lift the revocation first." },
  too_many_attestations: { status: 409, title: "As many attestations of an origin are stored as may be." },
  too_many_tokens: { status: 409, title: "As many usable tokens are held as may be." },
  too_many_hosts: { status: 409, title: "Sites have as many hosts together as they may." },
  site_full: { status: 409, title: "The site has as many bytes as it may." },
  version_changed: { status: 409, title: "Another version was published meanwhile." },
  no_version: { status: 409, title: "The site has no such version, or it is kept no more." },
  last_admin: { status: 409, title: "Nobody could administer the gateway any more." },
  busy: { status: 503, title: "Other changes came first; nothing was changed.", retryAfter: 1 },
};

function kindOf(code: ProblemCode): ProblemKind {
  if (code in ADMIN_ONLY) return ADMIN_ONLY[code as AdminOnlyCode];
  const { status, sentence, retryAfter } = ERRORS[code as GatewayErrorCode];
  return { status, title: sentence, ...(retryAfter === undefined ? {} : { retryAfter }) };
}

/** One invalid member of a request. */
export interface FieldError {
  /** Path of the member, dots between the parts: `grants.3`; `body`: the whole body. */
  readonly field: string;
  readonly message: string;
  /** Of a publication: the code of the refusal, and behind a slash that of the archive's. */
  readonly reason?: string;
}

export interface ProblemDetails {
  /** One sentence about this very occurrence. */
  readonly detail?: string;
  /** The row that stands in the way. */
  readonly id?: string;
  readonly errors?: readonly FieldError[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal of the admin API itself. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, details: ProblemDetails = {}) {
    super(details.detail ?? kindOf(code).title);
    this.code = code;
    this.details = details;
  }
}

/** The refusal of one member that its schema lets through. @param message as in {@link FieldError}: `must be …`. */
export function badMember(field: string, message: string): Problem {
  return new Problem("bad_request", { detail: `${field} ${message}.`, errors: [{ field, message }] });
}

/**
 * An RFC 9457 answer: `application/problem+json` with `type` (`about:blank`: the code says it all), `title`, `status`,
 * `detail`, and the members `code`, `requestId`, `id` and `errors`.
 */
export function problemResponse(c: ProblemContext, code: ProblemCode, details: ProblemDetails = {}): Response {
  const { status, title, retryAfter } = kindOf(code);
  c.var.log.code = code;
  const headers: Record<string, string> = { "Content-Type": "application/problem+json", "Cache-Control": "no-store" };
  if (status === 401) headers["WWW-Authenticate"] = "Bearer";
  if (retryAfter !== undefined) headers["Retry-After"] = String(retryAfter);
  const body = {
    type: "about:blank",
    title,
    status,
    detail: details.detail ?? title,
    code,
    ...(details.id === undefined ? {} : { id: details.id }),
    ...(details.errors === undefined ? {} : { errors: details.errors }),
    requestId: c.var.requestId,
  };
  return c.body(JSON.stringify(body), status, { ...headers, ...details.headers });
}

function publicationDetails({ code, field, problem, message, cause }: PublicationError): ProblemDetails {
  const reason = cause instanceof ArchiveError ? `${code}/${cause.code}` : code;
  return { detail: message, errors: [{ field, message: problem, reason }] };
}

/** The whole sentence about one member, or about no single one. */
function refused(field: string | null, message: string): ProblemDetails {
  return { detail: message, ...(field === null ? {} : { errors: [{ field, message }] }) };
}

const UNCONFIRMED =
  "The database did not confirm the change: it may have been made, or not. Look before you repeat it.";

/** The one place that turns what a route throws into an answer; what nobody expected becomes 500 `internal` without detail. */
export function answerProblem(error: Error, c: ProblemContext): Response {
  if (error instanceof Problem) return problemResponse(c, error.code, error.details);
  if (error instanceof RegistryError) {
    const { code, message, id, field } = error;
    return problemResponse(c, code, { ...(id === null ? {} : { id }), ...refused(field, message) });
  }
  if (error instanceof PublicationError) return problemResponse(c, "bad_publication", publicationDetails(error));
  if (error instanceof OriginError) return problemResponse(c, "bad_origin", refused("origin", error.message));
  if (error instanceof GatewayError) {
    if (error.cause !== undefined) c.var.log.crash(error);
    return problemResponse(c, error.code, {
      detail: error.message,
      ...(error.retryAfter === undefined ? {} : { headers: { "Retry-After": String(error.retryAfter) } }),
    });
  }
  if (error instanceof HTTPException) {
    if (error.status === 400) return problemResponse(c, "bad_json", refused("body", ERRORS.bad_json.sentence));
    if (error.status === 415) {
      return problemResponse(
        c,
        "unsupported_media_type",
        refused("Content-Type", ERRORS.unsupported_media_type.sentence),
      );
    }
  }
  c.var.log.crash(error);
  if (isDatabaseDown(error)) {
    return problemResponse(c, "policy_unavailable", error instanceof BatchFailed ? { detail: UNCONFIRMED } : {});
  }
  return problemResponse(c, "internal");
}
