import { type LookupAddress, lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { OriginFetchError, type OriginFetcher } from "../core/fetch/origin-fetch.ts";
import {
  type CanonicalOrigin,
  isForbiddenAddress,
  isLoopbackAddress,
  OriginError,
  parseOrigin,
} from "../core/origin.ts";
import { CommandError } from "./command-error.ts";
import { httpClient } from "./http-client.ts";

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
  // An address of this machine stands for itself: there is no name that could lead elsewhere.
  const lookup = isLoopbackLiteral(origin) ? undefined : checkedLookup(origin, resolve);
  const client = httpClient(origin.startsWith("http:") ? "http:" : "https:", lookup);
  return {
    fetch: async (url, init) => {
      try {
        return await client.fetch(url, init);
      } catch (error) {
        throw withReason(error);
      }
    },
    [Symbol.asyncDispose]: async () => client.close(),
  };
}

function isLoopbackLiteral(origin: CanonicalOrigin): boolean {
  return origin.startsWith("http:") && new URL(origin).hostname !== "localhost";
}

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
  if (error instanceof AddressRefused) return new OriginFetchError("fetch_failed", error.message, { cause: error });
  if (!(error instanceof Error) || !("code" in error)) return error;
  return new OriginFetchError("fetch_failed", `The origin could not be reached (${error.code}).`, { cause: error });
}
