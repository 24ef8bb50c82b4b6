import type { SandboxLimits } from "../limits.ts";
import type { CallControl } from "./call-control.ts";
import type { Instance } from "./instance.ts";
import { PoolExhausted } from "./outcome.ts";
import { Holdings, type Place, type Tenant, WaitingLine } from "./waiting-line.ts";

/** An instance in the hands of one call. */
export interface Lease {
  readonly instance: Instance;
  readonly tenant: Tenant | undefined;
  readonly control: CallControl;
  /** Epoch milliseconds after which the next taker may discard the instance: its call was lost. */
  readonly deadline: number;
}

/** Time beyond a call's own deadline before its lease counts as lost. */
const LOST_AFTER_MS = 5_000;

/**
 * Looks between microtasks before a waiter falls asleep, counted from the last instance that came back. A call that asks nothing of the
 * host ends within about ten microtasks, so behind such calls nobody waits for a timer.
 */
const QUICK_LOOKS = 32;

/** A waiter looks again after this time: at first soon, then less often. */
const FIRST_POLL_MS = 1;
const LAST_POLL_MS = 8;

export interface PoolOptions {
  readonly limits: SandboxLimits;
  readonly now: () => number;
  /** Bytes of linear memory that a new instance has. */
  readonly instanceBytes: number;
  readonly createInstance: (mayGrow: (instance: Instance, bytes: number) => boolean) => Instance;
}

/**
 * Instances, made on demand and used again. Nobody ever waits for a promise that another request settles, which workerd
 * cancels: waiters look again by their own timers. All linear memory together stays under `poolMemoryBytes`.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #idle: Instance[] = [];
  readonly #leases = new Map<Instance, Lease>();
  readonly #held = new Holdings();
  readonly #line: WaitingLine;
  /** Instances that have come back, ever. */
  #returned = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#line = new WaitingLine(options.limits.poolSize, options.now);
  }

  get busy(): number {
    return this.#leases.size;
  }

  get waiting(): number {
    return this.#line.length;
  }

  get instances(): number {
    return this.#idle.length + this.#leases.size;
  }

  get memoryBytes(): number {
    let sum = 0;
    for (const instance of this.#idle) sum += instance.memoryBytes;
    for (const instance of this.#leases.keys()) sum += instance.memoryBytes;
    return sum;
  }

  /** Makes sure that one instance exists. */
  warm(): void {
    if (this.instances === 0) this.#idle.push(this.#create());
  }

  /**
   * Takes an instance that is free for this call now; `null` where it must wait.
   *
   * @throws {CallStopped}
   */
  takeAtOnce(control: CallControl, tenant: Tenant | undefined, need: number | null): Lease | null {
    control.check();
    return this.#tryPass(null, control, tenant, need);
  }

  /**
   * Takes an instance, waiting for at most `poolWaitMs`.
   *
   * @param need bytes of linear memory that the call is known to need; `null` where nobody knows.
   * @throws {PoolExhausted} when none came free in time
   * @throws {CallStopped} when the call is cancelled or over its deadline while it waits
   */
  async take(control: CallControl, tenant: Tenant | undefined, need: number | null): Promise<Lease> {
    const { limits, now } = this.#options;
    const atOnce = this.takeAtOnce(control, tenant, need);
    if (atOnce !== null) return atOnce;
    const giveUpAt = now() + limits.poolWaitMs;
    const place = this.#line.join(tenant);
    try {
      let lease = await this.#lookQuickly(place, control, tenant, need);
      for (let delay = FIRST_POLL_MS; lease === null; delay = Math.min(delay * 2, LAST_POLL_MS)) {
        await new Promise((resolve) => setTimeout(resolve, delay));
        control.check();
        this.#line.seen(place);
        this.#discardLost();
        lease = this.#tryPass(place, control, tenant, need);
        if (lease === null && now() >= giveUpAt) {
          throw new PoolExhausted(`no sandbox came free within ${limits.poolWaitMs} ms (pool size ${limits.poolSize})`);
        }
      }
      return lease;
    } finally {
      this.#line.leave(place);
    }
  }

  /** Each look follows a microtask of this call's own: it waits for nobody, and yet lets the other calls of this moment end. */
  async #lookQuickly(
    place: Place,
    control: CallControl,
    tenant: Tenant | undefined,
    need: number | null,
  ): Promise<Lease | null> {
    let returned = this.#returned;
    for (let looks = 0; looks < QUICK_LOOKS; looks++) {
      await undefined;
      if (this.#returned !== returned) {
        returned = this.#returned;
        looks = 0;
      }
      if (this.#leases.size >= this.#options.limits.poolSize) continue;
      control.check();
      const lease = this.#tryPass(place, control, tenant, need);
      if (lease !== null) return lease;
    }
    return null;
  }

  #tryPass(place: Place | null, control: CallControl, tenant: Tenant | undefined, need: number | null): Lease | null {
    return this.#line.mayPass(place, tenant, this.#held) ? this.#tryTake(control, tenant, need) : null;
  }

  /** Gives an instance back. `reusable` is false after a trap or an abandoned call. */
  release(lease: Lease, reusable: boolean): void {
    // A lease that was lost or aborted is no longer ours; its instance is left to the garbage collector.
    if (this.#leases.get(lease.instance) !== lease) return;
    this.#forget(lease);
    this.#returned++;
    if (reusable && (!this.#isLarge(lease.instance) || !this.#idle.some((other) => this.#isLarge(other)))) {
      this.#idle.push(lease.instance);
    }
  }

  #isLarge(instance: Instance): boolean {
    return instance.memoryBytes > this.#options.limits.keepInstanceBytes;
  }

  /**
   * The smallest idle instance that has what the call needs, else the largest one. Linear memory cannot shrink, and a dropped one stays
   * resident until the garbage collector comes round: tools that need much memory should grow the same instance, again and again, and no
   * other call should keep it from them.
   */
  #takeIdle(need: number | null): Instance | undefined {
    let best = 0;
    for (let index = 1; index < this.#idle.length; index++) {
      const [known, size] = [this.#idle[best]?.memoryBytes ?? 0, this.#idle[index]?.memoryBytes ?? 0];
      const isBetter = need !== null && known >= need ? size >= need && size <= known : size >= known;
      if (isBetter) best = index;
    }
    return this.#idle.splice(best, 1)[0];
  }

  #tryTake(control: CallControl, tenant: Tenant | undefined, need: number | null): Lease | null {
    const { limits, now, instanceBytes } = this.#options;
    if (this.#leases.size >= limits.poolSize) this.#discardLost();
    if (this.#leases.size >= limits.poolSize) return null;
    let instance = this.#takeIdle(need);
    if (instance === undefined) {
      if (this.memoryBytes + instanceBytes > limits.poolMemoryBytes) return null;
      instance = this.#create();
    }
    const deadline = now() + Math.max(0, control.remainingMs) + LOST_AFTER_MS;
    const lease: Lease = { instance, tenant, control, deadline };
    this.#leases.set(instance, lease);
    this.#held.note(tenant, 1);
    return lease;
  }

  #create(): Instance {
    return this.#options.createInstance((instance, bytes) => this.#mayGrow(instance, bytes));
  }

  #discardLost(): void {
    const now = this.#options.now();
    for (const lease of this.#leases.values()) {
      if (now >= lease.deadline) this.#abort(lease, () => lease.control.stop("timeout"));
    }
  }

  /**
   * Makes room for `bytes` more in a running instance: idle instances go first, then suspended calls that use more than
   * this one will have; where this one is the largest, it is refused. What counts is the memory that a call uses itself,
   * not what the calls before it left its instance with.
   */
  #mayGrow(instance: Instance, bytes: number): boolean {
    const { poolMemoryBytes } = this.#options.limits;
    const size = instance.memoryBytes + bytes;
    while (this.memoryBytes + bytes > poolMemoryBytes) {
      if (this.#idle.length > 0) {
        this.#idle.shift();
        continue;
      }
      const largest = this.#largestOther(instance);
      if (largest === null || largest.instance.heapEnd <= size) return false;
      this.#abort(largest, () => largest.control.stop("out_of_memory"));
    }
    return true;
  }

  #largestOther(instance: Instance): Lease | null {
    let largest: Lease | null = null;
    for (const lease of this.#leases.values()) {
      if (lease.instance === instance) continue;
      if (largest === null || lease.instance.heapEnd > largest.instance.heapEnd) largest = lease;
    }
    return largest;
  }

  #abort(lease: Lease, stop: () => void): void {
    this.#forget(lease);
    stop();
  }

  #forget(lease: Lease): void {
    this.#leases.delete(lease.instance);
    this.#held.note(lease.tenant, -1);
  }
}
