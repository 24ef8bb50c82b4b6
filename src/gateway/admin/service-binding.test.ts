import { beforeEach, describe, expect, it } from "vitest";
import { call, freshDatabase } from "./fixture.ts";

beforeEach(freshDatabase);

// vitest.config.ts binds it, as SERVICE_ORIGINS of a deployment would.
const BOUND = "https://bound.example";

describe("an origin behind a service binding", () => {
  it.each([undefined, false, "true", 1])(
    "[10.4-1042] [code:service_binding_unconfirmed] is not registered with confirmServiceBinding: %j",
    async (confirmServiceBinding) => {
      for (const origin of [BOUND, `${BOUND}/base`, `${BOUND}:443/`, BOUND.toUpperCase()]) {
        const { body } = await call("POST", "/origins", { origin, confirmServiceBinding });
        if (confirmServiceBinding === undefined) {
          expect(body).toMatchObject({ status: 409, code: "service_binding_unconfirmed" });
          expect(body.detail).toContain("BOUND_PUBLISHER");
        } else {
          expect(body).toMatchObject({ status: 400, code: "bad_request" });
        }
      }
      expect((await call("GET", "/origins")).body.items).toEqual([]);
    },
  );

  it("[10.4-1042] is registered when the operator confirms it, which the audit log keeps", async () => {
    const { status, body } = await call("POST", "/origins", { origin: BOUND, confirmServiceBinding: true });
    expect([status, body.origin, body.status]).toEqual([201, BOUND, "pending"]);
    const [row] = (await call("GET", "/audit")).body.items;
    expect(JSON.stringify(row)).toContain("BOUND_PUBLISHER");
  });

  it("others need no confirmation, another port and a subdomain included, and may have one", async () => {
    for (const origin of [`${BOUND}:8443`, "https://a.bound.example", "https://c.example"]) {
      expect((await call("POST", "/origins", { origin })).status).toBe(201);
    }
    const both = { origin: "https://d.example", confirmServiceBinding: true };
    expect((await call("POST", "/origins", both)).status).toBe(201);
  });
});
