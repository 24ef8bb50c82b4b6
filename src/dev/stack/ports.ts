import { createServer } from "node:net";

export const HOST = "127.0.0.1";

/** A port that the stack needs and cannot have: another program holds it, or the system keeps it for administrators. */
export class PortBusy extends Error {
  override readonly name = "PortBusy";
  readonly port: number;

  constructor(port: number, reason: "in use" | "forbidden" = "in use") {
    super(reason === "in use" ? `Port ${port} is already in use.` : `Port ${port} may not be opened by this user.`);
    this.port = port;
  }
}

/** Makes sure that all ports are free on the loopback address. @throws PortBusy naming the first that is not. */
export async function requireFree(ports: readonly number[]): Promise<void> {
  for (const port of ports) await listenOnce(port);
}

// Below the range from which systems take the ports of outgoing connections (Linux: 32768 up).
const RUN_START = 20_000;
const RUN_END = 32_000;
const RUN_TRIES = 100;

/** Finds so many free ports in a row and answers the first. They stay free as long as nobody asks for exactly them. */
export async function findFreeRun(count: number): Promise<number> {
  for (let tries = 0; tries < RUN_TRIES; tries++) {
    const first = RUN_START + Math.floor(Math.random() * (RUN_END - RUN_START - count));
    try {
      await requireFree(Array.from({ length: count }, (_, index) => first + index));
      return first;
    } catch (error) {
      if (!(error instanceof PortBusy)) throw error;
    }
  }
  throw new Error(`No ${count} free ports in a row between ${RUN_START} and ${RUN_END}.`);
}

function listenOnce(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") reject(new PortBusy(port));
      else if (error.code === "EACCES") reject(new PortBusy(port, "forbidden"));
      else reject(error);
    });
    server.listen({ port, host: HOST, exclusive: true }, () => {
      server.close(() => resolve());
    });
  });
}
