import { createServer } from "node:net";

export const HOST = "127.0.0.1";

/** A port that the stack needs and another program holds. */
export class PortBusy extends Error {
  override readonly name = "PortBusy";
  readonly port: number;

  constructor(port: number) {
    super(`Port ${port} is already in use.`);
    this.port = port;
  }
}

/** Makes sure that all ports are free on the loopback address. @throws PortBusy naming the first that is not. */
export async function requireFree(ports: readonly number[]): Promise<void> {
  for (const port of ports) await listenOnce(port);
}

/** Finds free ports for a stack that needs no stable ones. */
export async function findFree(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await listenOnce(0));
  return [...ports];
}

function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", (error: NodeJS.ErrnoException) => {
      reject(error.code === "EADDRINUSE" || error.code === "EACCES" ? new PortBusy(port) : error);
    });
    server.listen({ port, host: HOST, exclusive: true }, () => {
      const address = server.address();
      const bound = typeof address === "object" && address !== null ? address.port : port;
      server.close(() => resolve(bound));
    });
  });
}
