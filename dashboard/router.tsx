import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

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

/** The address that is not to be left now. */
let held: string | null = null;

/** Where the console is; its screens are addresses, so that each can be linked to and gone back to. */
export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const move = () => {
      if (held === null) setPlace(here());
    };
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

/**
 * While something is held that leaving would lose, the browser's ways back and on stay here and call `onLeave`, and a reload or the end of
 * the tab is asked about by the browser.
 */
export function useStay(isHeld: boolean, onLeave: () => void): void {
  const latest = useRef(onLeave);
  latest.current = onLeave;
  useEffect(() => {
    if (!isHeld) return;
    const address = location.href;
    held = address;
    const stay = () => {
      history.pushState(null, "", address);
      latest.current();
    };
    const warn = (event: Event) => event.preventDefault();
    addEventListener("popstate", stay);
    addEventListener("beforeunload", warn);
    return () => {
      held = null;
      removeEventListener("popstate", stay);
      removeEventListener("beforeunload", warn);
    };
  }, [isHeld]);
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
