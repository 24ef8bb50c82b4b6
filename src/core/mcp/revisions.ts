/** The revision that carries `_meta` on every request instead of a handshake. */
export const MODERN_VERSION = "2026-07-28";

/** What `server/discover` and error -32022 name: the revisions a client may put into `_meta`. */
export const MODERN_VERSIONS: readonly string[] = [MODERN_VERSION];

/** What `initialize` may agree on, oldest first. */
export const HANDSHAKE_VERSIONS: readonly string[] = ["2025-06-18", "2025-11-25"];

export const LATEST_HANDSHAKE_VERSION = "2025-11-25";

/** From here on every value under `capabilities.experimental` is an object, and extensions are declared. */
export const OBJECTS_SINCE = "2025-11-25";

/**
 * What a request without `MCP-Protocol-Version` is taken to speak (2025-06-18 basic/transports). It is served but never
 * agreed on in `initialize`: that would oblige us to accept batches.
 */
export const ASSUMED_VERSION = "2025-03-26";

/** Every value of `MCP-Protocol-Version` that is served, for sentences that list them. */
export const SERVED_VERSIONS: readonly string[] = [ASSUMED_VERSION, ...HANDSHAKE_VERSIONS, ...MODERN_VERSIONS];

export const META_PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion";
export const META_CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export const META_SERVER_INFO = "io.modelcontextprotocol/serverInfo";
export const META_SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
