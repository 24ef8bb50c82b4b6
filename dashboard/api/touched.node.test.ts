import { describe, expect, it } from "vitest";
import { changeOf, isTouched, restAfter } from "./touched.ts";

const ID = `org_${"0".repeat(24)}`;
const PATHS = [
  "/health",
  "/usage?by=hour #800",
  "/audit?limit=50",
  "/skills?state=waiting&current=true",
  "/origins?limit=50",
  `/origins/${ID}/skills?current=true #256`,
  `/origins/${ID}/release`,
  "/clients?limit=50",
  "/operators?limit=50",
  "/session",
  "/sites?limit=50",
  `/sites/${ID}/mismatches`,
  "/reviewers?limit=50",
  "/attestations?sort=expiry",
];
const touchedBy = (type: string, data: object = {}) =>
  PATHS.filter((path) => isTouched(path, changeOf(type, JSON.stringify(data)))).map((path) => path.split(/[?# ]/)[0]);

describe("an event of the stream touches", () => {
  it.each([
    ["usage", {}, ["/usage"]],
    ["discovery", {}, ["/health", `/origins/${ID}/release`]],
    ["audit", { action: "session.create" }, ["/audit"]],
    ["audit", { action: "operator.update" }, ["/audit", "/operators", "/session"]],
    ["audit", { action: "site.publish" }, ["/audit", "/sites", `/sites/${ID}/mismatches`]],
    ["audit", { action: "agent_skill.quarantine" }, ["/audit", `/sites/${ID}/mismatches`]],
    [
      "audit",
      { action: "client.token.create" },
      // The origins that a client is granted are a list of origins.
      ["/audit", "/origins", `/origins/${ID}/skills`, `/origins/${ID}/release`, "/clients"],
    ],
    [
      "audit",
      { action: "skill.approve" },
      ["/audit", "/skills", `/origins/${ID}/skills`, `/origins/${ID}/release`, "/attestations"],
    ],
  ])("%s %j: %j", (type, data, paths) => {
    expect(touchedBy(type, data)).toEqual(paths);
  });

  it.each([
    ["reset", {}],
    ["audit", { action: "import" }],
    ["audit", { action: "constructor.new" }],
    ["audit", {}],
  ])("%s %j: everything", (type, data) => {
    expect(touchedBy(type, data)).toHaveLength(PATHS.length);
    expect(isTouched("/health", changeOf(type, "{"))).toBe(true);
  });
});

it("lets what is dear to read rest longer, however much happens", () => {
  expect(restAfter("/usage?by=hour #800")).toBe(20_000);
  expect(restAfter("/health")).toBe(30_000);
  expect(restAfter("/audit?limit=50")).toBe(1_000);
});
