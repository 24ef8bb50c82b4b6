import { html, raw } from "hono/html";
import { encodeBase64 } from "../../core/attestation/base64.ts";
import { curlOf } from "./docs-curl.ts";
import type { OpenApiDocument } from "./document.ts";

/** What of OpenAPI 3.1 our document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly example?: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

export interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
  readonly security?: readonly unknown[];
}

const STYLE = `:root{color-scheme:light dark;--line:light-dark(#ccd,#445);--soft:light-dark(#f4f5f9,#20222c);--link:light-dark(#1a4fb4,#8db4ff)}
body{font:1rem/1.5 system-ui,sans-serif;margin:0 auto;max-width:64rem;padding:1rem;overflow-wrap:break-word}
a{color:var(--link)}h2{margin-top:3rem;border-bottom:1px solid var(--line)}h3{margin-top:2rem}
code,pre{font:.9em ui-monospace,monospace;background:var(--soft)}pre{padding:.75rem;overflow-x:auto}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;border-bottom:1px solid var(--line);padding:.3rem .6rem .3rem 0}
nav ul{columns:20rem;padding-left:1rem}`;

let policy: Promise<string> | undefined;

/** The page's `Content-Security-Policy`: its own style, and nothing else. */
export function docsPolicy(): Promise<string> {
  policy ??= crypto.subtle.digest("SHA-256", new TextEncoder().encode(STYLE)).then((digest) => {
    const hash = encodeBase64(new Uint8Array(digest));
    return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  });
  return policy;
}

/** The OpenAPI document for people: every route with its parameters, shapes and a `curl` command. Static, without scripts. */
export function docsPage(document: OpenApiDocument) {
  const schemas = (document.components?.schemas ?? {}) as Readonly<Record<string, Schema>>;
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as Readonly<Record<string, Operation>>).map(([method, operation]) => ({
      method,
      path,
      operation,
    })),
  );
  const byTag = Map.groupBy(operations, ({ operation }) => operation.tags?.[0] ?? "other");
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}</title><style>${raw(STYLE)}</style></head>
<body>
<main>
<h1>${document.info.title}</h1>
${(document.info.description ?? "").split("\n\n").map((text) => html`<p>${prose(text)}</p>`)}
<p>The commands below want two variables, the gateway's address and a token; what stands in braces is to be filled in:</p>
<pre>API=https://gate.example${document.servers?.[0]?.url ?? ""}
ADMIN=sgo_…</pre>
<p>The same as <a href="openapi.json">OpenAPI 3.1</a>.</p>
<nav aria-label="Routes">
${[...byTag].map(
  ([tag, routes]) => html`<h2>${tag}</h2><ul>
${routes.map(({ method, path, operation }) => html`<li><a href="#${anchor(method, path)}">${operation.summary ?? path}</a></li>`)}</ul>`,
)}
</nav>
${operations.map(({ method, path, operation }) => showOperation(method, path, operation, schemas))}
<h2>Shapes</h2>
${Object.entries(schemas).map(
  ([name, schema]) => html`<section id="shape-${name}"><h3>${name}</h3>${showShape(schema)}</section>`,
)}
</main>
</body>
</html>`;
}

function showOperation(method: string, path: string, operation: Operation, schemas: Readonly<Record<string, Schema>>) {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const [status, answer] = Object.entries(responses).find(([code]) => code !== "default") ?? ["", undefined];
  return html`<section id="${anchor(method, path)}">
<h2>${summary ?? path}</h2>
<p><code>${method.toUpperCase()} ${path}</code></p>
<p>${prose(description ?? "")}</p>
<pre>${curlOf(method, path, operation, schemas)}</pre>
${
  parameters.length === 0
    ? ""
    : html`<table><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th>Meaning</th></tr></thead><tbody>
${parameters.map(
  ({ name, in: where, required, schema, description: meaning }) => html`<tr><td><code>${name}</code></td>
<td>${where}${required === true ? ", required" : ""}</td><td>${typeOf(schema ?? {})}</td><td>${prose(meaning ?? schema?.description ?? "")}</td></tr>`,
)}</tbody></table>`
}
${requestBody === undefined ? "" : html`<h3>Body${requestBody.required === true ? "" : " (may be left out)"}</h3>${showContent(requestBody.content)}`}
<h3>Answer ${status}</h3>
<p>${prose(answer?.description ?? "")}</p>
${answer?.content === undefined ? "" : showContent(answer.content)}
</section>`;
}

function showContent(content: Content) {
  return Object.entries(content).map(
    ([type, { schema = {} }]) => html`<p><code>${type}</code>: ${typeOf(schema)}</p>${showShape(schema)}`,
  );
}

function showShape({ properties, required = [], description, ...rest }: Schema) {
  if (properties === undefined)
    return rest.$ref === undefined ? html`<p>${typeOf(rest)} ${prose(description ?? "")}</p>` : "";
  return html`<table><thead><tr><th>Member</th><th>Type</th><th>Meaning</th></tr></thead><tbody>
${Object.entries(properties).map(
  ([name, schema]) => html`<tr><td><code>${name}</code>${required.includes(name) ? "" : " (optional)"}</td>
<td>${typeOf(schema)}</td><td>${meaningOf(schema)}</td></tr>`,
)}</tbody></table>`;
}

/** What a member means, and what it may look like. */
function meaningOf({ description = "", example }: Schema) {
  if (typeof example !== "string" && typeof example !== "number") return prose(description);
  return html`${prose(description)} Such as <code>${example}</code>.`;
}

/** A type in few words, with links to the named ones. */
function typeOf(schema: Schema): ReturnType<typeof html> {
  const { $ref, type, anyOf, oneOf, allOf, items, properties } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    return html`<a href="#shape-${name}">${name}</a>`;
  }
  const choice = anyOf ?? oneOf ?? allOf;
  if (choice !== undefined) return html`${choice.map((one, i) => html`${i === 0 ? "" : " or "}${typeOf(one)}`)}`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum !== undefined) {
    return html`${schema.enum.map((one, i) => html`${i === 0 ? "" : " or "}<code>${JSON.stringify(one)}</code>`)}`;
  }
  if (items !== undefined) return html`list of ${typeOf(items)}`;
  if (properties !== undefined) {
    return html`object of ${Object.keys(properties).map((name, i) => html`${i === 0 ? "" : ", "}<code>${name}</code>`)}`;
  }
  return html`${typeof type === "string" ? type : (type ?? ["any"]).join(" or ")}`;
}

/** Text with `code` in backticks. */
function prose(text: string) {
  return text.split("`").map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

function anchor(method: string, path: string): string {
  return `${method}-${path.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "")}`;
}
