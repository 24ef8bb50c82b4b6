import { describe, expect, it } from "vitest";
import { findScreen, matchPath } from "./router.tsx";

describe("addresses of screens", () => {
  it.each([
    ["/", "/", {}],
    ["/clients", "/clients/", {}],
    ["/clients/:id/:tab?", "/clients/c1", { id: "c1", tab: undefined }],
    ["/clients/:id/:tab?", "/clients/c1/limits", { id: "c1", tab: "limits" }],
    ["/clients/:id/:tab?", "/clients", null],
    ["/clients/:id/:tab?", "/clients/c1/limits/more", null],
    ["/clients", "/Clients", null],
  ])("%s takes %s as %j", (pattern, path, parameters) => {
    expect(matchPath(pattern, path)).toEqual(parameters);
  });

  it("belong to the first route that fits", () => {
    const routes = { "/a/review": () => "review", "/a/:id": ({ id }: { readonly id?: string | undefined }) => id };
    expect(findScreen(routes, "/a/review")).toBe("review");
    expect(findScreen(routes, "/a/b")).toBe("b");
    expect(findScreen(routes, "/b")).toBeUndefined();
  });
});
