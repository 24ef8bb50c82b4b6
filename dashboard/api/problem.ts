/** A refusal of the admin API (RFC 9457), or a request that never arrived. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  /** HTTP status; 0: no answer came. */
  readonly status: number;
  readonly code: string;
  /** The row that stands in the way. */
  readonly id: string | null;
  readonly errors: readonly { readonly field: string; readonly message: string }[];
  readonly requestId: string | null;

  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    super(typeof body.detail === "string" ? body.detail : `The gateway answered ${status} without saying why.`);
    this.status = status;
    this.code = typeof body.code === "string" ? body.code : "unknown";
    this.id = typeof body.id === "string" ? body.id : null;
    this.errors = Array.isArray(body.errors) ? body.errors : [];
    this.requestId = typeof body.requestId === "string" ? body.requestId : null;
  }
}

/** The problem of an answer that is no success. */
export async function problemOf(answer: Response): Promise<ApiProblem> {
  const body: unknown = await answer.json().catch(() => ({}));
  return new ApiProblem(answer.status, typeof body === "object" && body !== null ? { ...body } : {});
}

export function unreachable(): ApiProblem {
  return new ApiProblem(0, {
    code: "unreachable",
    detail: "The gateway did not answer. Check the connection and try again.",
  });
}

/** Cloudflare Access, or another guard before the gateway, wants its own sign-in renewed. */
export function refusedEntry(): ApiProblem {
  return new ApiProblem(0, {
    code: "redirected",
    detail:
      "Whoever guards this host asks you to sign in anew. Open the console in another tab, sign in there, and try again here: nothing that you typed is lost.",
  });
}

/** Another operator signed in meanwhile, in another tab of this browser. */
export function operatorChanged(name: string): ApiProblem {
  return new ApiProblem(403, {
    code: "operator_changed",
    detail: `In this browser ${name} is signed in now, so nothing was done. Look again, and repeat it if it is to be done in that name.`,
  });
}

/** Whatever was thrown, as something to show. */
export function toProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem(0, { code: "console", detail: error instanceof Error ? error.message : String(error) });
}
