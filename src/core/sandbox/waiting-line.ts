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

/** How many instances are out, and how many of them each client and each origin holds. */
export class Holdings {
  #count = 0;
  readonly #clients = new Map<string, number>();
  readonly #origins = new Map<string, number>();

  get count(): number {
    return this.#count;
  }

  /** Notes that one went out to the tenant (`change` 1), or came back (-1). */
  note(tenant: Tenant | undefined, change: 1 | -1): void {
    this.#count += change;
    if (tenant === undefined) return;
    add(this.#clients, tenant.client, change);
    add(this.#origins, tenant.origin, change);
  }

  /** What the tenant's client or its origin holds, whichever is more. */
  most(tenant: Tenant | undefined): number {
    if (tenant === undefined) return 0;
    return Math.max(this.#clients.get(tenant.client) ?? 0, this.#origins.get(tenant.origin) ?? 0);
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** A waiter that has not looked for this long is gone: its request was cancelled and its timer never fires. */
const GONE_AFTER_MS = 250;

/**
 * The order in which waiters may take an instance: first come, first served, within shares. A client and an origin have a claim to half of
 * the pool. Beyond it they take what nobody with a claim waits for, and never the last quarter: so a newcomer finds an instance at once,
 * however many calls a neighbour keeps waiting for a slow publisher. Work without a tenant is our own and always has a claim.
 */
export class WaitingLine {
  readonly #poolSize: number;
  readonly #share: number;
  readonly #reserve: number;
  readonly #now: () => number;
  readonly #places: Place[] = [];

  constructor(poolSize: number, now: () => number) {
    this.#poolSize = poolSize;
    this.#share = Math.max(1, Math.floor(poolSize / 2));
    this.#reserve = poolSize / 4;
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
    const at = this.#places.indexOf(place);
    if (at >= 0) this.#places.splice(at, 1);
  }

  seen(place: Place): void {
    place.seenAt = this.#now();
  }

  /**
   * Whether this waiter (`null`: a newcomer) may take one of the free instances now.
   */
  mayPass(place: Place | null, tenant: Tenant | undefined, held: Holdings): boolean {
    const free = this.#poolSize - held.count;
    const claims = held.most(tenant) < this.#share;
    // A hundred waiters look in turn: as long as nothing is free for them, looking must cost next to nothing.
    if (free <= 0 || (!claims && free - 1 <= this.#reserve)) return false;
    this.#forgetGone(place);
    let before = place === null;
    let ahead = 0;
    for (let index = this.#places.length - 1; index >= 0; index--) {
      const other = this.#places[index];
      if (other === place) before = true;
      else if (held.most(other?.tenant) < this.#share) {
        if (!claims) return false;
        if (before) ahead++;
      } else if (!claims && before) ahead++;
    }
    return claims ? ahead < free : free - 1 - ahead > this.#reserve;
  }

  #forgetGone(looking: Place | null): void {
    const gone = this.#now() - GONE_AFTER_MS;
    for (let index = this.#places.length - 1; index >= 0; index--) {
      const place = this.#places[index];
      if (place !== undefined && place !== looking && place.seenAt < gone) this.#places.splice(index, 1);
    }
  }
}
