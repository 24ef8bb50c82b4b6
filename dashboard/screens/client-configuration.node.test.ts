import { describe, expect, it } from "vitest";
import { publicAddress } from "./client-configuration.ts";

describe("the address that clients are told", () => {
  const of = (publicHosts: string, adminHost: string, host: string) =>
    publicAddress(
      [
        { name: "PUBLIC_HOSTS", value: publicHosts },
        { name: "ADMIN_HOST", value: adminHost },
      ],
      { protocol: "https:", host },
    );

  it.each([
    ["here, where no setting says otherwise", "", "", "gate.example", "https://gate.example"],
    ["here, where this is a public host", "a.example,gate.example", "", "gate.example", "https://gate.example"],
    [
      "a public host, where this one is the operators'",
      "gate.example",
      "ops.example",
      "ops.example",
      "https://gate.example",
    ],
    [
      "a public host that is not the operators'",
      "ops.example gate.example",
      "ops.example",
      "ops.example",
      "https://gate.example",
    ],
    ["a public host, where this one is none", "gate.example", "", "ops.example", "https://gate.example"],
    ["unknown, where this is the operators' host and none is named", "", "ops.example", "ops.example", null],
    ["here, where there is no other", "ops.example", "ops.example", "ops.example", "https://ops.example"],
  ])("is %s", (_, publicHosts, adminHost, host, expected) => {
    expect(of(publicHosts, adminHost, host)).toBe(expected);
  });
});
