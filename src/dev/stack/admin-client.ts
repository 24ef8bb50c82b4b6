/** A refusal of the admin API. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  readonly status: number;
  readonly code: string;
  /** The row that stands in the way, where the API names one. */
  readonly id: string | undefined;

  constructor(request: string, status: number, problem: { code?: string; detail?: string; id?: string }) {
    super(`${request} answered ${status} ${problem.code ?? ""}: ${problem.detail ?? "no detail"}`);
    this.status = status;
    this.code = problem.code ?? "unknown";
    this.id = problem.id;
  }
}

export interface ProbeResult {
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly skills: readonly {
    readonly publicName: string;
    readonly approvedAt: number | null;
    readonly changedSinceApproval: boolean;
  }[];
  readonly rejected: readonly {
    readonly scope: string | null;
    readonly name: string;
    readonly subject: string;
    readonly code: string;
  }[];
}

/** The calls of the admin API that setting up a local stack needs. Each throws an {@link AdminError} when refused. */
export class AdminClient {
  readonly #base: string;
  readonly #token: string;

  constructor(url: string, adminToken: string) {
    this.#base = `${url}/admin/api/v1`;
    this.#token = adminToken;
  }

  async ensureOrigin(origin: string): Promise<string> {
    try {
      return (await this.#call<{ id: string }>("POST", "/origins", { origin })).id;
    } catch (error) {
      if (error instanceof AdminError && error.status === 409 && error.id !== undefined) return error.id;
      throw error;
    }
  }

  async originStatus(id: string): Promise<string> {
    return (await this.#call<{ status: string }>("GET", `/origins/${id}`)).status;
  }

  probe(id: string): Promise<ProbeResult> {
    return this.#call("POST", `/origins/${id}/probe`);
  }

  async activate(id: string): Promise<void> {
    await this.#call("POST", `/origins/${id}/activate`, {});
  }

  async suspend(id: string, reason: string): Promise<void> {
    await this.#call("POST", `/origins/${id}/suspend`, { reason });
  }

  /** A client that may call every origin; `rpm` is calls a minute, `null` without limit. */
  async createClient(name: string, rpm: number | null = null): Promise<string> {
    return (await this.#call<{ id: string }>("POST", "/clients", { name, rpm, grants: "all" })).id;
  }

  async createToken(clientId: string): Promise<string> {
    return (await this.#call<{ token: string }>("POST", `/clients/${clientId}/tokens`, {})).token;
  }

  async #call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await fetch(`${this.#base}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      parsed = { detail: text.slice(0, 300) };
    }
    if (!answer.ok) throw new AdminError(`${method} ${path}`, answer.status, parsed as object);
    return parsed as T;
  }
}
