// Preloaded into the conformance suite, which has no option for credentials: adds `Authorization: Bearer $MCP_BEARER` to everything it
// sends, through the global fetch, node:http and the undici package (the DNS-rebinding scenario uses its dispatcher).
import http from "node:http";
import https from "node:https";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const token = process.env.MCP_BEARER;
if (token) {
  const authorization = `Bearer ${token}`;

  const plainFetch = globalThis.fetch;
  globalThis.fetch = (input, init = {}) => {
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
    if (!headers.has("authorization")) headers.set("authorization", authorization);
    return plainFetch(input, { ...init, headers });
  };

  for (const protocol of [http, https]) {
    const plainRequest = protocol.request;
    protocol.request = (...args) => {
      const request = plainRequest.apply(protocol, args);
      if (!request.getHeader("authorization")) request.setHeader("authorization", authorization);
      return request;
    };
  }

  const { Agent, setGlobalDispatcher } = createRequire(pathToFileURL(process.argv[1]))("undici");
  const addBearer = (dispatch) => (options, handler) => {
    // undici takes headers as a flat list of names and values, or as an object.
    const { headers } = options;
    const isList = Array.isArray(headers);
    const names = isList ? headers.filter((_, i) => i % 2 === 0) : Object.keys(headers ?? {});
    if (names.some((name) => String(name).toLowerCase() === "authorization")) return dispatch(options, handler);
    const more = isList ? [...headers, "authorization", authorization] : { ...headers, authorization };
    return dispatch({ ...options, headers: more }, handler);
  };
  setGlobalDispatcher(new Agent().compose(addBearer));
}
