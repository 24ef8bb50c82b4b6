import ipaddr from "ipaddr.js";

/**
 * IPv4 blocks that are refused whatever the library calls them: RFC 6890's special-purpose registry, so that a change of
 * the library's tables cannot open a hole.
 */
const FORBIDDEN_IPV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
].map((block) => ipaddr.IPv4.parseCIDR(block));

/** Metadata services that live in ordinary unicast space (Azure's wire server, Alibaba's lies in 100.64.0.0/10). */
const METADATA_IPV4 = ["168.63.129.16/32"].map((block) => ipaddr.IPv4.parseCIDR(block));

/** The only IPv6 space that is routed globally; mapped, compatible, NAT64, unique local and link-local lie outside it. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Blocks inside 2000::/3 that embed an IPv4 address, are for documentation, or are not for hosts (RFC 6890, 9637). */
const FORBIDDEN_IPV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map((block) =>
  ipaddr.IPv6.parseCIDR(block),
);

/**
 * True unless the address is ordinary, globally routed unicast. Loopback, private, link-local, carrier-grade, metadata,
 * unspecified, multicast, benchmarking, documentation and reserved ranges are forbidden, and so is every IPv6 form that
 * embeds an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo). Text that is no address is forbidden too.
 *
 * @param address IPv4 or IPv6 in any spelling, with or without brackets or a zone; for instance the remote address of a
 *   connected socket.
 */
export function isForbiddenAddress(address: string): boolean {
  const parsed = parse(address);
  if (parsed === null) return true;
  if (parsed.range() !== "unicast") return true;
  if (parsed instanceof ipaddr.IPv4) {
    return [...FORBIDDEN_IPV4, ...METADATA_IPV4].some((block) => parsed.match(block));
  }
  if (parsed instanceof ipaddr.IPv6) {
    return !parsed.match(GLOBAL_IPV6) || FORBIDDEN_IPV6.some((block) => parsed.match(block));
  }
  return true;
}

/** True for 127.0.0.0/8, `::1` and their IPv4-mapped form. */
export function isLoopbackAddress(address: string): boolean {
  const parsed = parse(address);
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress()) {
    return parsed.toIPv4Address().range() === "loopback";
  }
  return parsed?.range() === "loopback";
}

/** True when a canonical URL host name is an address literal rather than a name. */
export function isAddressLiteral(hostname: string): boolean {
  return hostname.startsWith("[") || ipaddr.IPv4.isValidFourPartDecimal(hostname);
}

function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const text = address.replace(/^\[/, "").replace(/\]$/, "");
  return ipaddr.isValid(text) ? ipaddr.parse(text) : null;
}
