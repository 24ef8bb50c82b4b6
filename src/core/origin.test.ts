import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CanonicalOrigin,
  formatOriginPath,
  isForbiddenAddress,
  isLoopbackAddress,
  MAX_ORIGIN_LENGTH,
  OriginError,
  type OriginRules,
  parseOrigin,
  parseOriginPath,
} from "./origin.ts";

const STRICT: OriginRules = { allowLoopbackHttp: false, ownHosts: ["gate.example.com"] };
const DEV: OriginRules = { allowLoopbackHttp: true, ownHosts: ["localhost:8787"] };

/** The canonical origin, or the code of the refusal. */
function outcome(parse: () => string): string {
  try {
    return parse();
  } catch (error) {
    if (error instanceof OriginError) return error.code;
    throw error;
  }
}

const origin = (input: string, rules = STRICT) => outcome(() => parseOrigin(input, rules));
const originPath = (path: string, rules = STRICT) => outcome(() => parseOriginPath(path, rules));

describe("canonical origins", () => {
  it.each([
    ["https://pub.example.org", "https://pub.example.org"],
    ["HTTPS://PUB.Example.org:443/", "https://pub.example.org"],
    ["https://pub.example.org:8443", "https://pub.example.org:8443"],
    ["https://U.github.io/REPO/", "https://u.github.io/REPO"],
    ["https://u.github.io/a/./b/../c", "https://u.github.io/a/c"],
    ["https://u.github.io/a/..", "https://u.github.io"],
    ["https://u.github.io/%52%45po%7e", "https://u.github.io/REpo~"],
    ["https://u.github.io/caf%c3%a9", "https://u.github.io/caf%C3%A9"],
    ["https://u.github.io/café", "https://u.github.io/caf%C3%A9"],
    ["https://bücher.example.org", "https://xn--bcher-kva.example.org"],
    ["https://pub.example.org/a:b;c=d@e", "https://pub.example.org/a:b;c=d@e"],
    ["https://8.8.8.8", "https://8.8.8.8"],
    ["https://[2606:4700:0::1111]", "https://[2606:4700::1111]"],
  ])("%s is %s", (input, expected) => {
    expect(origin(input)).toBe(expected);
  });

  it.each([
    ["", "bad_url"],
    ["pub.example.org", "bad_url"],
    ["https:", "bad_url"],
    ["https:pub.example.org", "bad_url"],
    ["https:/pub.example.org", "bad_url"],
    ["https:///pub.example.org", "bad_url"],
    ["https://", "bad_url"],
    ["https://pub.example.org:99999", "bad_url"],
    ["https://1.2.3.999", "bad_url"],
    ["https://[::1", "bad_url"],
    ["data:x", "bad_url"],
    ["ftp://pub.example.org", "not_https"],
    ["http://pub.example.org", "not_https"],
    ["http://localhost:8788", "not_https"],
    ["http://127.0.0.1", "not_https"],
    [" https://pub.example.org", "bad_character"],
    ["https://pub.example.org\n", "bad_character"],
    ["https://pub.exa\tmple.org", "bad_character"],
    ["https://pub.example.org/a b", "bad_character"],
    ["https://pub.example.org/a\u00a0b", "bad_character"],
    ["https://pub.exam\u00adple.org", "bad_character"],
    ["https://pub.example.org/\u202egpj", "bad_character"],
    ["https://pub.example.org/\ud800", "bad_character"],
    ["https://pub.example.org/\u0000", "bad_character"],
    ["https:\\\\pub.example.org", "bad_character"],
    ["https://pub.example.org\\@evil.example.org", "bad_character"],
    ["https://user@pub.example.org", "has_credentials"],
    ["https://:@pub.example.org", "has_credentials"],
    ["https://pub.example.org:443@evil.example.org/x", "has_credentials"],
    ["https://pub.example.org?", "has_query"],
    ["https://pub.example.org/a?q=1#h", "has_query"],
    ["https://pub.example.org#", "has_hash"],
    ["https://pub.example.org/a#h?q", "has_hash"],
    ["https://pub.example.org//", "bad_path"],
    ["https://pub.example.org/a//b", "bad_path"],
    ["https://pub.example.org/a%2fb", "bad_path"],
    ["https://pub.example.org/a%2Fb", "bad_path"],
    ["https://pub.example.org/a%5cb", "bad_path"],
    ["https://pub.example.org/%2e%2e/a", "bad_path"],
    ["https://pub.example.org/a/.%2E", "bad_path"],
    ["https://pub.example.org/%252e%252e", "bad_path"],
    ["https://pub.example.org/%00", "bad_path"],
    ["https://pub.example.org/%zz", "bad_path"],
    ["https://pub.example.org/a|b", "bad_path"],
  ])("%j is refused as %s", (input, code) => {
    expect(origin(input)).toBe(code);
  });

  it("refuses more characters than the cap, as given or as canonical text", () => {
    const start = "https://pub.example.org/";
    const ofLength = (length: number) => start + "a".repeat(length - start.length);
    expect(origin(ofLength(MAX_ORIGIN_LENGTH - 1))).toBe(ofLength(MAX_ORIGIN_LENGTH - 1));
    expect(origin(ofLength(MAX_ORIGIN_LENGTH))).toBe(ofLength(MAX_ORIGIN_LENGTH));
    expect(origin(ofLength(MAX_ORIGIN_LENGTH + 1))).toBe("too_long");
    expect(origin(start + "é".repeat(1000))).toBe("too_long");
  });

  it("is idempotent, and its path form leads back to it", () => {
    const segment = fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9._~!$&'()*+,;=:@%-]{1,8}$/),
      fc.constantFrom("..", ".", "%41", "%2e", "%2f", "é", "a b", "%c3%a9", "", "%25", "\\", "|"),
    );
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV4Extended(),
      fc.ipV6().map((ip) => `[${ip}]`),
      fc.constant("localhost"),
    );
    const input = fc
      .tuple(
        fc.constantFrom("https", "http", "HTTPS"),
        host,
        fc.constantFrom("", ":443", ":80", ":8788"),
        fc.array(segment),
      )
      .map(([scheme, name, port, segments]) => `${scheme}://${name}${port}/${segments.join("/")}`);
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(input, fc.webUrl(), fc.string()), (text) => {
        const canonical = origin(text, DEV);
        if (!canonical.includes("://")) return;
        accepted += 1;
        expect(origin(canonical, DEV)).toBe(canonical);
        expect(parseOriginPath(formatOriginPath(canonical as CanonicalOrigin), DEV)).toBe(canonical);
        const url = new URL(canonical);
        expect(url.href.replace(/\/$/, "")).toBe(canonical);
      }),
      { numRuns: 3000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
});

describe("hosts that are never origins", () => {
  const NAMES = [
    "localhost",
    "a.localhost",
    "LOCALHOST",
    "intranet",
    "printer.local",
    "metadata.google.internal",
    "router.home.arpa",
    "home.arpa",
    "pub.example.org.",
    "localhost.",
    "a..b.org",
    ".org",
    `${"a".repeat(64)}.org`,
    `${"a.".repeat(127)}org`,
  ];
  const IPV4 = [
    ["unspecified", "0.0.0.0"],
    ["this network", "0.1.2.3"],
    ["private", "10.0.0.1"],
    ["private", "172.16.0.1"],
    ["private", "172.31.255.255"],
    ["private", "192.168.1.1"],
    ["carrier-grade", "100.64.0.1"],
    ["carrier-grade", "100.127.255.255"],
    ["metadata (Alibaba)", "100.100.100.200"],
    ["loopback", "127.0.0.1"],
    ["loopback", "127.255.255.254"],
    ["metadata", "169.254.169.254"],
    ["metadata (Azure)", "168.63.129.16"],
    ["protocol assignments", "192.0.0.1"],
    ["documentation", "192.0.2.1"],
    ["documentation", "198.51.100.1"],
    ["documentation", "203.0.113.1"],
    ["6to4 relay", "192.88.99.1"],
    ["benchmarking", "198.18.0.1"],
    ["benchmarking", "198.19.255.255"],
    ["multicast", "224.0.0.1"],
    ["reserved", "240.0.0.1"],
    ["broadcast", "255.255.255.255"],
  ] as const;
  const IPV6 = [
    ["unspecified", "::"],
    ["loopback", "::1"],
    ["IPv4-mapped", "::ffff:8.8.8.8"],
    ["IPv4-mapped loopback", "::ffff:7f00:1"],
    ["IPv4-translated", "::ffff:0:127.0.0.1"],
    ["IPv4-compatible", "::127.0.0.1"],
    ["IPv4-compatible", "::808:808"],
    ["NAT64", "64:ff9b::7f00:1"],
    ["local NAT64", "64:ff9b:1::1"],
    ["6to4", "2002:7f00:1::"],
    ["Teredo", "2001:0:7f00:1::"],
    ["documentation", "2001:db8::1"],
    ["documentation", "3fff::1"],
    ["benchmarking", "2001:2::1"],
    ["ORCHID", "2001:20::1"],
    ["unique local", "fc00::1"],
    ["metadata (EC2)", "fd00:ec2::254"],
    ["link-local", "fe80::1"],
    ["site-local", "fec0::1"],
    ["multicast", "ff02::1"],
    ["discard", "100::1"],
    ["segment routing", "5f00::1"],
    ["unassigned", "4000::1"],
  ] as const;

  it.each(NAMES)("%s", (name) => {
    expect(origin(`https://${name}`)).toBe("forbidden_host");
    expect(origin(`https://${name}:8443/base`)).toBe("forbidden_host");
  });

  it.each(IPV4)("%s address %s in every spelling", (_kind, address) => {
    const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
    const number = ((a * 256 + b) * 256 + c) * 256 + d;
    const spellings = [
      address,
      String(number),
      `0x${number.toString(16)}`,
      `0${number.toString(8)}`,
      `${a}.${(b * 256 + c) * 256 + d}`,
      `${a}.${b}.${c * 256 + d}`,
      [a, b, c, d].map((part) => `0x${part.toString(16)}`).join("."),
      [a, b, c, d].map((part) => `0${part.toString(8)}`).join("."),
      `${address}.`,
      encodeURIComponent(address).replaceAll(".", "%2e"),
      address.replaceAll(".", "\u3002"),
      [...address].map((sign) => (sign === "." ? sign : String.fromCodePoint(0xfee0 + sign.charCodeAt(0)))).join(""),
      `[::ffff:${address}]`,
      `[::${address}]`,
      `[64:ff9b::${address}]`,
      `[2002:${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}::1]`,
    ];
    for (const spelling of spellings)
      expect([spelling, origin(`https://${spelling}`)]).toEqual([spelling, "forbidden_host"]);
    expect(isForbiddenAddress(address)).toBe(true);
    expect(isForbiddenAddress(`::ffff:${address}`)).toBe(true);
  });

  it.each(IPV6)("%s address %s", (_kind, address) => {
    expect(origin(`https://[${address}]`)).toBe("forbidden_host");
    expect(isForbiddenAddress(address)).toBe(true);
    expect(isForbiddenAddress(`[${address}]`)).toBe(true);
    expect(isForbiddenAddress(`${address}%eth0`)).toBe(true);
  });

  it("but ordinary unicast addresses next to those ranges are", () => {
    const PUBLIC = ["1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"];
    PUBLIC.push("128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "198.17.255.255");
    PUBLIC.push("198.20.0.0", "223.255.255.255");
    for (const address of PUBLIC) {
      expect([address, isForbiddenAddress(address)]).toEqual([address, false]);
      expect(origin(`https://${address}`)).toBe(`https://${address}`);
    }
    for (const address of ["2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888"]) {
      expect(isForbiddenAddress(address)).toBe(false);
    }
  });

  it("and neither is text that is no address", () => {
    for (const text of ["", "pub.example.org", "1.2.3.4.5", ":::", "[]"]) expect(isForbiddenAddress(text)).toBe(true);
  });

  it("nor the gateway itself, in every spelling of its name", () => {
    for (const host of ["gate.example.com", "GATE.example.com:443", "gate.example.com:8443/x", "gate.example.com."]) {
      expect(origin(`https://${host}`)).toBe("own_host");
    }
    expect(origin("https://pub.gate.example.com")).toBe("https://pub.gate.example.com");
    for (const host of ["localhost:8787", "127.0.0.1:8787", "127.9.9.9:8787", "[::1]:8787", "2130706433:8787"]) {
      expect(origin(`http://${host}`, DEV)).toBe("own_host");
    }
    expect(origin("http://localhost", { allowLoopbackHttp: true, ownHosts: ["localhost:80"] })).toBe("own_host");
    expect(origin("http://127.0.0.1:9", { allowLoopbackHttp: true, ownHosts: ["localhost"] })).toBe("own_host");
  });
});

describe("loopback publishers for development", () => {
  it("are accepted over http where allowed, and only there", () => {
    for (const host of ["localhost:8788", "127.0.0.1:8788", "[::1]:8788", "localhost", "localhost:8788/base"]) {
      expect(origin(`http://${host}`, DEV)).toBe(`http://${host}`);
      expect(origin(`http://${host}`)).toBe("not_https");
      expect(origin(`https://${host}`, DEV)).toBe("forbidden_host");
    }
    for (const host of ["pub.example.org", "10.0.0.1", "a.localhost", "169.254.169.254", "[fe80::1]"]) {
      expect(origin(`http://${host}`, DEV)).toBe("not_https");
    }
  });

  it("are told apart by address", () => {
    for (const address of ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "::ffff:127.0.0.1"]) {
      expect(isLoopbackAddress(address)).toBe(true);
    }
    for (const address of ["128.0.0.1", "::2", "::ffff:8.8.8.8", "localhost", ""]) {
      expect(isLoopbackAddress(address)).toBe(false);
    }
  });
});

describe("the path form", () => {
  it.each([
    ["pub.example.org", "https://pub.example.org"],
    ["PUB.example.org:8443/", "https://pub.example.org:8443"],
    ["u.github.io/REPO", "https://u.github.io/REPO"],
    ["[2606:4700::1111]:8443/x", "https://[2606:4700::1111]:8443/x"],
    ["", "bad_url"],
    ["/", "bad_url"],
    ["/pub.example.org", "bad_url"],
    ["https://pub.example.org", "bad_path"],
    ["https%3A%2F%2Fpub.example.org", "bad_path"],
    ["pub.example.org%2fREPO", "bad_path"],
    ["pub.example.org/a%2fb", "bad_path"],
    ["pub.example.org/a%5Cb", "bad_path"],
    ["pub.example.org/%2e%2e/x", "bad_path"],
    ["pub.example.org/a//b", "bad_path"],
    ["user@pub.example.org", "has_credentials"],
    ["pub.example.org?x", "has_query"],
    ["pub.example.org#x", "has_hash"],
    ["localhost:8788", "forbidden_host"],
    ["gate.example.com", "own_host"],
  ])("%j is %s", (path, expected) => {
    expect(originPath(path)).toBe(expected);
  });

  it("means http for a loopback host where those are allowed", () => {
    for (const host of ["localhost:8788", "127.0.0.1:8788/base", "[::1]:8788"]) {
      expect(originPath(host, DEV)).toBe(`http://${host}`);
    }
    expect(originPath("pub.example.org", DEV)).toBe("https://pub.example.org");
    expect(originPath("localhost:8787", DEV)).toBe("own_host");
  });
});
