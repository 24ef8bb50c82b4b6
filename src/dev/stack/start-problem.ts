import { AdminError } from "./admin-client.ts";
import { PortBusy } from "./ports.ts";

/** Why a start failed, and what to do about it, for whoever typed `npm start`. */
export function startProblem(error: Error, { port, stateDir }: { port: number; stateDir: string }): string {
  if (error instanceof PortBusy) {
    return `${error.message} The gateway needs ${port} and the publishers ${port + 1} to ${port + 4}: choose others with \`npm start -- --port N\`.`;
  }
  const problem = `Skillgate could not start: ${error.message}`;
  if (!(error instanceof AdminError)) return problem;
  return `${problem} Its data may have a decision that a start cannot undo, such as a retired ADMIN_TOKEN or a revoked publisher: start with another --data, or delete ${stateDir}.`;
}
