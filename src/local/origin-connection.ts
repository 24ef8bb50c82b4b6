import { type LookupAddress, lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
import type { RequestInit as UndiciRequestInit } from "undici";
import { OriginFetchError, type OriginFetcher } from "../core/fetch/origin-fetch.ts";
import {
  type CanonicalOrigin,
  isForbiddenAddress,
  isLoopbackAddress,
  OriginError,
  parseOrigin,
} from "../core/origin.ts";
import { CommandError } from "./command-error.ts";

/** Fetches of one origin, over connections of their own; closing it lets the process end. */
export interface OriginConnection extends AsyncDisposable {
  readonly fetch: OriginFetcher;
}

export type ResolveName = (
  hostname: string,
  options: { readonly all: true; readonly family?: number; readonly hints?: number },
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Reads the origin that a command is asked about. Loopback http is accepted: whoever is at the command line develops there.
 *
 * @throws {CommandError} `bad_origin`.
 */
export function readOrigin(text: string): CanonicalOrigin {
  try {
    return parseOrigin(text, { allowLoopbackHttp: true, ownHosts: [] });
  } catch (error) {
    if (error instanceof OriginError) throw new CommandError("bad_origin", error.message);
    throw error;
  }
}

/**
 * Connects to public addresses alone, and for a loopback origin to loopback alone. The address that is checked is the one
 * that is connected to, so a name cannot show one address and lead to another.
 *
 * @param resolve the system's resolver unless given.
 */
export function connectTo(
  origin: CanonicalOrigin,
  resolve: ResolveName = systemLookup as ResolveName,
): OriginConnection {
  if (isLoopbackLiteral(origin)) return { fetch: directFetch, [Symbol.asyncDispose]: async () => {} };
  let opening: ReturnType<typeof openAgent> | null = null;
  return {
    fetch: async (url, init) => {
      opening ??= openAgent(checkedLookup(origin, resolve));
      const { agent, fetch } = await opening;
      try {
        return (await fetch(url, { ...init, dispatcher: agent } as UndiciRequestInit)) as unknown as Response;
      } catch (error) {
        throw withReason(error);
      }
    },
    [Symbol.asyncDispose]: async () => {
      if (opening !== null) await (await opening).agent.destroy();
    },
  };
}

/** The library is loaded when the first name is to be looked up: that takes a tenth of a second, which a client waits for. */
async function openAgent(lookup: LookupFunction) {
  const { Agent, fetch } = await import("undici");
  return { agent: new Agent({ connect: { lookup } }), fetch };
}

/** An address of this machine stands for itself: there is no name that could lead elsewhere. */
function isLoopbackLiteral(origin: CanonicalOrigin): boolean {
  return origin.startsWith("http:") && new URL(origin).hostname !== "localhost";
}

const directFetch: OriginFetcher = async (url, init) => {
  try {
    return await fetch(url, init);
  } catch (error) {
    throw withReason(error);
  }
};

class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

function checkedLookup(origin: CanonicalOrigin, resolve: ResolveName): LookupFunction {
  const loopback = origin.startsWith("http:");
  const isAllowed = ({ address }: LookupAddress) =>
    loopback ? isLoopbackAddress(address) : !isForbiddenAddress(address);
  return (hostname, { family, hints, all }, done) => {
    const options = {
      all: true as const,
      ...(typeof family === "number" ? { family } : {}),
      ...(hints === undefined ? {} : { hints }),
    };
    resolve(hostname, options, (error, addresses) => {
      if (error !== null) return done(error, "");
      const [first, ...others] = addresses.filter(isAllowed);
      if (first === undefined) return done(new AddressRefused(refusal(hostname, addresses, loopback)), "");
      if (all) done(null, [first, ...others]);
      else done(null, first.address, first.family);
    });
  };
}

function refusal(hostname: string, addresses: readonly LookupAddress[], loopback: boolean): string {
  const shown = addresses.map(({ address }) => address).join(", ") || "no address";
  return `The name ${hostname} leads to ${shown}, which is not ${loopback ? "this machine" : "a public address"}.`;
}

/** Whoever is at the command line may know why: it is their own network. */
function withReason(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof AddressRefused) return new OriginFetchError("fetch_failed", cause.message, { cause });
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : null;
  if (code === null) return error;
  return new OriginFetchError("fetch_failed", `The origin could not be reached (${code}).`, { cause });
}
