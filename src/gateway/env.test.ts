import { describe, expect, it } from "vitest";
import { DEFAULT_DISCOVERY_LIMITS, DEFAULT_SANDBOX_LIMITS } from "../core/limits.ts";
import { type Env, readSettings, SETTING_NAMES } from "./env.ts";

const read = (vars: Record<string, unknown>) => readSettings(vars as unknown as Env);

function settings(vars: Record<string, unknown>) {
  const result = read(vars);
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join(" "));
  return result.settings;
}

function problems(vars: Record<string, unknown>): readonly string[] {
  const result = read(vars);
  return result.ok ? [] : result.problems.map(({ name }) => name);
}

describe("readSettings", () => {
  it("gives every budget its documented default", () => {
    const { discovery, sandbox, maxBodyBytes, staleIfErrorMs, attestationMode, clientGasPerMinute } = settings({});
    expect(clientGasPerMinute).toBe(2_000_000_000);
    expect(discovery).toEqual(DEFAULT_DISCOVERY_LIMITS);
    expect(sandbox).toEqual(DEFAULT_SANDBOX_LIMITS);
    expect([maxBodyBytes, staleIfErrorMs, attestationMode]).toEqual([1_048_576, 86_400_000, "advisory"]);
  });

  it("makes every budget a setting: each limit changes under some name", () => {
    const changed = new Set<string>();
    const flat = (vars: Record<string, unknown>) => {
      const { discovery, sandbox, maxBodyBytes, staleIfErrorMs } = settings(vars);
      return { ...discovery, ...sandbox, maxBodyBytes, staleIfErrorMs } as Record<string, number>;
    };
    const before = flat({});
    for (const name of SETTING_NAMES) {
      for (const value of [1, 100, 20_000, 2_097_152]) {
        if (problems({ [name]: value }).length > 0) continue;
        const after = flat({ [name]: value });
        for (const key of Object.keys(before)) if (after[key] !== before[key]) changed.add(key);
      }
    }
    expect([...changed].sort()).toEqual(Object.keys(before).sort());
  });

  it("reads numbers as TOML or text gives them", () => {
    expect(settings({ MAX_BODY_BYTES: "2048" }).maxBodyBytes).toBe(2048);
    expect(settings({ MAX_BODY_BYTES: 2048 }).maxBodyBytes).toBe(2048);
  });

  it.each([
    "",
    " 1",
    "1 ",
    "+1",
    "-1",
    "01",
    "1e3",
    "1.5",
    "0x10",
    "1_000",
    "ten",
    "NaN",
    "99999999999",
    1.5,
    -1,
    Number.NaN,
    true,
    null,
    {},
  ])("refuses %j as a number", (value) => {
    expect(problems({ MAX_TOOL_BYTES: value })).toEqual(["MAX_TOOL_BYTES"]);
  });

  it.each(["Enforcing", " enforcing", "enforcing ", "on", "", "true", "strict"])(
    "[10.1-J] refuses ATTESTATION_MODE=%j instead of turning attestation off",
    (value) => {
      expect(problems({ ATTESTATION_MODE: value })).toEqual(["ATTESTATION_MODE"]);
    },
  );

  it.each([
    ["SANDBOX_ENGINE", "JSPI"],
    ["UNVERIFIED_RECIPES", "Offer"],
    ["UNVERIFIED_RECIPES", "true"],
    ["UNVERIFIED_RECIPES", ""],
    ["ALLOW_LOOPBACK_ORIGINS", "yes"],
    ["ALLOW_LOOPBACK_ORIGINS", "1"],
    ["ALLOWED_BROWSER_ORIGINS", "*"],
    ["ALLOWED_BROWSER_ORIGINS", "https://app.example/"],
    ["ALLOWED_BROWSER_ORIGINS", "https://APP.example"],
    ["ALLOWED_BROWSER_ORIGINS", "https://app.example:443"],
    ["ALLOWED_BROWSER_ORIGINS", "app.example"],
    ["ALLOWED_BROWSER_ORIGINS", "null"],
    ["PUBLIC_HOSTS", "https://gate.example"],
    ["PUBLIC_HOSTS", "Gate.example"],
    ["PUBLIC_HOSTS", "gate.example:443"],
    ["ADMIN_HOST", "admin.example:443"],
    ["ADMIN_HOST", "admin.example:80"],
    ["ADMIN_HOST", "admin.example/"],
    ["ADMIN_HOST", "a.example,b.example"],
    ["ADMIN_TOKEN", "short"],
    ["ADMIN_TOKEN", "with a space in the middle"],
    ["SERVICE_ORIGINS", "https://a.example"],
    ["SERVICE_ORIGINS", "https://a.example="],
    ["SERVICE_ORIGINS", "=SERVICE"],
    ["SERVICE_ORIGINS", "https://a.example=NOT_BOUND"],
    ["SERVICE_ORIGINS", "https://a.example=MAX_BODY_BYTES"],
    ["SERVICE_ORIGINS", "https://a.example/=SERVICE"],
    ["SERVICE_ORIGINS", "https://a.example/base=SERVICE"],
    ["SERVICE_ORIGINS", "https://A.example=SERVICE"],
    ["SERVICE_ORIGINS", "https://a.example:443=SERVICE"],
    ["SERVICE_ORIGINS", "http://a.example=SERVICE"],
    ["SERVICE_ORIGINS", "a.example=SERVICE"],
    ["SERVICE_ORIGINS", "https://a.example=SERVICE=SERVICE"],
    ["SERVICE_ORIGINS", "https://a.example=SERVICE,https://a.example=SERVICE"],
    ["SERVICE_ORIGINS", "https://a.example=SERVICE;https://b.example=SERVICE"],
    ["WASM_POOL_SIZE", "0"],
    ["STALE_IF_ERROR_S", "2592001"],
  ])("refuses %s=%j", (name, value) => {
    expect(problems({ SERVICE: { fetch() {} }, [name]: value })).toEqual([name]);
  });

  it("[10.4-1042] maps origins to the service bindings that reach them", () => {
    const SERVICE_ORIGINS = "https://a.example=SERVICE, https://b.example:8443=SERVICE,http://127.0.0.1:8787=OTHER";
    const SERVICE = { fetch() {} };
    expect([...settings({ SERVICE_ORIGINS, SERVICE, OTHER: SERVICE }).serviceOrigins]).toEqual([
      ["https://a.example", "SERVICE"],
      ["https://b.example:8443", "SERVICE"],
      ["http://127.0.0.1:8787", "OTHER"],
    ]);
    expect(settings({}).serviceOrigins.size).toBe(0);
    const result = read({ SERVICE_ORIGINS: "https://a.example=SERVICE" });
    expect(JSON.stringify(result)).toContain("The setting SERVICE_ORIGINS must name only service bindings that exist.");
  });

  it("names every bad setting, and never says what it held", () => {
    const result = read({ MAX_BODY_BYTES: "hunter2", ADMIN_TOKEN: "hunter2" });
    expect(result.ok).toBe(false);
    const text = JSON.stringify(result);
    expect(text).toContain("The setting MAX_BODY_BYTES must be a whole number from 1 to 16777216.");
    expect(text).toContain("The setting ADMIN_TOKEN must be 16 to 512 visible ASCII characters.");
    expect(text).not.toContain("hunter2");
  });

  it("splits lists and trims their items", () => {
    const { allowedBrowserOrigins, publicHosts } = settings({
      ALLOWED_BROWSER_ORIGINS: "https://a.example, http://localhost:3000",
      PUBLIC_HOSTS: "gate.example, gate.example:8443",
    });
    expect([...allowedBrowserOrigins]).toEqual(["https://a.example", "http://localhost:3000"]);
    expect(publicHosts).toEqual(["gate.example", "gate.example:8443"]);
  });

  it("takes an unset secret for none", () => {
    expect(settings({}).adminToken).toBeNull();
    expect(settings({ ADMIN_TOKEN: "" }).adminToken).toBeNull();
    expect(settings({ ADMIN_TOKEN: "a-long-enough-secret" }).adminToken).toBe("a-long-enough-secret");
  });
});
