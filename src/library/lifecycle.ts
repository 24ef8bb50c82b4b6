import { ToolHostError } from "./tool-host-error.ts";

/** What a host is at a moment: only a ready one has anything to work with. */
export type Life<T> =
  | { readonly state: "new" }
  | { readonly state: "starting" }
  | { readonly state: "ready"; readonly parts: T }
  | { readonly state: "disposed" };

/** The life of a host: new, ready once, disposed for good. A start that failed may be tried again. */
export class Lifecycle<T> {
  #life: Life<T> = { state: "new" };

  /** @throws {ToolHostError} `already_initialised`, `disposed`; whatever `make` throws. */
  async start(make: () => Promise<T>): Promise<void> {
    if (this.#life.state === "disposed") throw disposed();
    if (this.#life.state !== "new") {
      throw new ToolHostError("already_initialised", "This host has been initialised: init() is called once.");
    }
    this.#life = { state: "starting" };
    try {
      const parts = await make();
      if (!this.#isDisposed()) this.#life = { state: "ready", parts };
    } catch (error) {
      if (!this.#isDisposed()) this.#life = { state: "new" };
      throw error;
    }
    if (this.#isDisposed()) throw disposed();
  }

  /** @throws {ToolHostError} `not_initialised`, `disposed`. */
  get parts(): T {
    const life = this.#life;
    if (life.state === "ready") return life.parts;
    if (life.state === "disposed") throw disposed();
    throw new ToolHostError("not_initialised", "This host is not initialised yet: await init() first.");
  }

  dispose(): void {
    this.#life = { state: "disposed" };
  }

  #isDisposed(): boolean {
    return this.#life.state === "disposed";
  }
}

function disposed(): ToolHostError {
  return new ToolHostError("disposed", "This host was disposed of.");
}
