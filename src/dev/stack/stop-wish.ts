/** What a wish needs of a process. */
type Signalled = Pick<NodeJS.Process, "on" | "off" | "listeners" | "connected" | "channel">;

export interface StopWish {
  readonly made: boolean;
  readonly promise: Promise<void>;
  /** Drops the handlers of our tools: they would end the process before the databases are closed. */
  ownSignals(): void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Becomes true at the first Ctrl-C, at `kill`, or when the process that started this one is gone. More of them change nothing. */
export function stopWish(process: Signalled): StopWish {
  let make = () => {};
  const promise = new Promise<void>((resolve) => {
    make = resolve;
  });
  const wish = {
    made: false,
    promise,
    ownSignals: () => {
      for (const signal of SIGNALS) {
        for (const listener of process.listeners(signal)) if (listener !== stop) process.off(signal, listener);
      }
    },
  };
  const stop = () => {
    wish.made = true;
    make();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  if (process.connected) process.on("disconnect", stop);
  process.channel?.unref();
  return wish;
}
