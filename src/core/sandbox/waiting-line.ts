/** Whose work a call is: the client that asks and the origin whose tool runs. */
export interface Tenant {
  readonly client: string;
  readonly origin: string;
}

/** One waiter's place. */
export interface Place {
  readonly tenant: Tenant | undefined;
  /** Epoch milliseconds of its last sign of life. */
  seenAt: number;
}

/** A waiter that has not looked for this long is gone: its request was cancelled and its timer never fires. */
const GONE_AFTER_MS = 250;

/**
 * The order in which waiters may take an instance: first come, first served, except that no client and no origin holds
 * more than half of the pool while another one waits.
 */
export class WaitingLine {
  readonly #poolSize: number;
  readonly #share: number;
  readonly #now: () => number;
  #places: Place[] = [];

  constructor(poolSize: number, now: () => number) {
    this.#poolSize = poolSize;
    this.#share = Math.max(1, Math.floor(poolSize / 2));
    this.#now = now;
  }

  get length(): number {
    return this.#places.length;
  }

  join(tenant: Tenant | undefined): Place {
    const place: Place = { tenant, seenAt: this.#now() };
    this.#places.push(place);
    return place;
  }

  leave(place: Place): void {
    this.#places = this.#places.filter((other) => other !== place);
  }

  seen(place: Place): void {
    place.seenAt = this.#now();
  }

  /** Whether this waiter (`null`: a newcomer) may take one of the free instances now. */
  mayPass(place: Place | null, tenant: Tenant | undefined, holders: Iterable<Tenant | undefined>): boolean {
    if (this.#places.length > 0) {
      const gone = this.#now() - GONE_AFTER_MS;
      this.#places = this.#places.filter((other) => other === place || other.seenAt >= gone);
    }
    const others = this.#places.filter((other) => other !== place);
    if (others.length === 0) return true;
    const held = [...holders];
    const competes = others.some((other) => this.#differs(other.tenant, tenant));
    if (competes && this.#atShare(tenant, held)) return false;
    const before = place === null ? others : this.#places.slice(0, this.#places.indexOf(place));
    const ahead = before.filter((other) => {
      const rivals =
        this.#differs(other.tenant, tenant) || others.some((third) => this.#differs(third.tenant, other.tenant));
      return !(rivals && this.#atShare(other.tenant, held));
    });
    return ahead.length < this.#poolSize - held.length;
  }

  #differs(one: Tenant | undefined, other: Tenant | undefined): boolean {
    return one?.client !== other?.client || one?.origin !== other?.origin;
  }

  /** Whether a tenant's client or origin holds half of the pool. */
  #atShare(tenant: Tenant | undefined, held: readonly (Tenant | undefined)[]): boolean {
    if (tenant === undefined) return false;
    const sameClient = held.filter((holder) => holder?.client === tenant.client).length;
    const sameOrigin = held.filter((holder) => holder?.origin === tenant.origin).length;
    return sameClient >= this.#share || sameOrigin >= this.#share;
  }
}
