import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Where the console lives on its host. Paths below are relative to it and begin with a slash. */
export const BASE = "/admin";

const MOVED = "skillgate-moved";

interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

function here(): Place {
  const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : "";
  return { path: path === "" ? "/" : path, query: new URLSearchParams(location.search) };
}

/** Where the console is; its screens are addresses, so that each can be linked to and gone back to. */
export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const move = () => setPlace(here());
    addEventListener("popstate", move);
    addEventListener(MOVED, move);
    return () => {
      removeEventListener("popstate", move);
      removeEventListener(MOVED, move);
    };
  }, []);
  return place;
}

/** Goes to another screen; with `replace` the present one is not come back to. */
export function go(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", BASE + path);
  else history.pushState(null, "", BASE + path);
  dispatchEvent(new Event(MOVED));
}

export interface LinkProps {
  readonly href: string;
  readonly class?: string;
  readonly "aria-current"?: "page" | "true" | undefined;
  readonly children: ComponentChildren;
}

export function Link({ href, children, class: kind, "aria-current": current }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return (
    <a href={BASE + href} class={kind} aria-current={current} onClick={follow}>
      {children}
    </a>
  );
}

export type Parameters = Readonly<Record<string, string | undefined>>;
/** A path whose parts `:name` are parameters; the last may be `:name?`. */
export type RouteTable = Readonly<Record<string, (parameters: Parameters) => ComponentChildren>>;

/** The screen of the first route that fits. */
export function findScreen(routes: RouteTable, path: string): ComponentChildren | undefined {
  for (const [pattern, show] of Object.entries(routes)) {
    const parameters = matchPath(pattern, path);
    if (parameters !== null) return show(parameters);
  }
  return undefined;
}

export function matchPath(pattern: string, path: string): Parameters | null {
  const wanted = pattern.split("/").filter((part) => part !== "");
  const given = path.split("/").filter((part) => part !== "");
  if (given.length > wanted.length) return null;
  const parameters: Record<string, string | undefined> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index];
    if (!part.startsWith(":")) {
      if (part !== value) return null;
    } else if (part.endsWith("?")) {
      parameters[part.slice(1, -1)] = value;
    } else {
      if (value === undefined) return null;
      parameters[part.slice(1)] = value;
    }
  }
  return parameters;
}
