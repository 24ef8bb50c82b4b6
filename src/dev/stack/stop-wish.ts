/** What a wish needs of a process. */
type Signalled = Pick<NodeJS.Process, "on" | "off" | "connected" | "channel">;

export interface StopWish {
  readonly made: boolean;
  readonly promise: Promise<void>;
}

type Signal = "SIGINT" | "SIGTERM" | "SIGHUP";

const SIGNALS: readonly Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Becomes true at the first Ctrl-C, at `kill`, or when the process that started this one is gone. More of them change nothing. From now on
 * nobody else hears of the signals: handlers of our tools would end the process before the databases are closed.
 */
export function stopWish(process: Signalled): StopWish {
  let make = () => {};
  const promise = new Promise<void>((resolve) => {
    make = resolve;
  });
  const wish = { made: false, promise };
  const stop = () => {
    wish.made = true;
    make();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  process.on("newListener", (event, listener) => {
    if (SIGNALS.includes(event as Signal)) queueMicrotask(() => process.off(event, listener));
  });
  if (process.connected) process.on("disconnect", stop);
  process.channel?.unref();
  return wish;
}
