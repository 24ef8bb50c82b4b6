import { globSync, readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";

// What README says of the console: each of its requests is a documented one, with a command to paste. They are read from its source, so that
// none is left out because no test happens to make it.

interface ConsoleRequest {
  readonly method: string;
  /** `{}` in place of what is filled in; without the query. */
  readonly path: string;
  readonly at: string;
}

/** Calls whose first argument is the path of a `GET`. */
const READS = new Set(["get", "useQuery", "usePages", "useAll", "useReading"]);
/** Components that read, or show the command of, their `path` or `list`. */
const READERS = new Set(["CurlOf", "ListScreen"]);

/** The paths that an expression may be; a constant of the file is followed. `{}`: known only when it runs. */
function pathsOf(node: ts.Expression, constants: ReadonlyMap<string, ts.Expression>): readonly string[] {
  if (ts.isAsExpression(node) || ts.isParenthesizedExpression(node)) return pathsOf(node.expression, constants);
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isConditionalExpression(node)) {
    return [...pathsOf(node.whenTrue, constants), ...pathsOf(node.whenFalse, constants)];
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return joined([pathsOf(node.left, constants), pathsOf(node.right, constants)]);
  }
  if (ts.isTemplateExpression(node)) {
    const parts = node.templateSpans.flatMap(({ expression, literal }) => [
      pathsOf(expression, constants),
      [literal.text],
    ]);
    return joined([[node.head.text], ...parts]);
  }
  const constant = ts.isIdentifier(node) ? constants.get(node.text) : undefined;
  if (constant === undefined) return ["{}"];
  return pathsOf(constant, new Map([...constants].filter(([name]) => name !== (node as ts.Identifier).text)));
}

function joined(parts: readonly (readonly string[])[]): readonly string[] {
  return parts.reduce((so, next) => so.flatMap((begin) => next.map((end) => begin + end)), [""]);
}

/** Without a query, which may be all that is not yet known at the end. */
function withoutQuery(path: string): string {
  return path.replace(/[? ].*$/, "").replace(/(?<=[^/]){}$/, "");
}

function requestsOf(file: string): readonly ConsoleRequest[] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const constants = new Map<string, ts.Expression>();
  const found: ConsoleRequest[] = [];
  const note = (method: string, node: ts.Expression, place: ts.Node = node) => {
    const at = `${file}:${source.getLineAndCharacterOfPosition(place.getStart()).line + 1}`;
    for (const path of pathsOf(node, constants)) found.push({ method, path: withoutQuery(path), at });
  };
  const each = (node: ts.Node, visit: (node: ts.Node) => void): void => {
    visit(node);
    node.forEachChild((child) => each(child, visit));
  };
  each(source, (node) => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined) {
      constants.set(node.name.text, node.initializer);
    }
  });
  each(source, (node) => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && READS.has(node.expression.text)) {
      const [path] = node.arguments;
      if (path !== undefined) note("GET", path);
    } else if (ts.isObjectLiteralExpression(node)) {
      const [method, path] = ["method", "path"].map((name) => memberOf(node, name));
      if (method === undefined || path === undefined) return;
      for (const verb of pathsOf(method, constants)) note(verb, path);
    } else if (ts.isTemplateExpression(node) && /^`\$\{API\}\//.test(node.getText())) {
      // What the browser itself asks for: a file to keep.
      for (const path of pathsOf(node, constants))
        note("GET", ts.factory.createStringLiteral(path.slice("{}".length)), node);
    } else if (
      (ts.isJsxSelfClosingElement(node) || ts.isJsxOpeningElement(node)) &&
      READERS.has(node.tagName.getText())
    ) {
      const path = node.attributes.properties.find(
        (one) => ts.isJsxAttribute(one) && /^(?:path|list)$/.test(one.name.getText()),
      );
      const value = path !== undefined && ts.isJsxAttribute(path) ? path.initializer : undefined;
      if (value !== undefined && ts.isStringLiteral(value)) note("GET", value);
      if (value !== undefined && ts.isJsxExpression(value) && value.expression !== undefined)
        note("GET", value.expression);
    }
  });
  return found;
}

function memberOf(node: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  for (const member of node.properties) {
    if (member.name?.getText() !== name) continue;
    if (ts.isPropertyAssignment(member)) return member.initializer;
    if (ts.isShorthandPropertyAssignment(member)) return member.name;
  }
  return undefined;
}

/** What is filled in on either side fits whatever stands on the other. */
function fits(path: string, pattern: string): boolean {
  const [asked, known] = [path.split("/"), pattern.split("/")];
  return (
    asked.length === known.length &&
    known.every((part, i) => part.startsWith("{") || [part, "{}"].includes(asked[i] ?? ""))
  );
}

it("every request in the console's source is a documented one, with a command to paste", async () => {
  const load = (path: string) => import(new URL(path, import.meta.url).href);
  const { createAdminApp } = await load("../../src/gateway/admin/app.ts");
  const { openApiDocument } = await load("../../src/gateway/admin/document.ts");
  const { docsPage } = await load("../../src/gateway/admin/docs-page.ts");
  const document = openApiDocument(createAdminApp()) as { paths: Record<string, object> };
  const page = String(await docsPage(document));
  const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => ({ method: method.toUpperCase(), path })),
  );

  const files = globSync("dashboard/**/*.{ts,tsx}").filter((file) => !/\.test\.|\.d\.ts$/.test(file));
  const requests = files.flatMap(requestsOf);
  // A component that is given its path: whoever gives it is among the others.
  const known = requests.filter(({ path }) => path.startsWith("/"));
  const distinct = new Set(known.map(({ method, path }) => `${method} ${path}`));
  expect(distinct.size).toBeGreaterThan(50);

  const used = known.map((request) => ({
    ...request,
    operations: documented.filter(({ method, path }) => method === request.method && fits(request.path, path)),
  }));
  expect(used.filter(({ operations }) => operations.length === 0)).toEqual([]);
  const operations = new Set(used.flatMap((request) => request.operations));
  for (const { method, path } of operations) {
    const address = `&quot;$API${path}`;
    const verb = method === "GET" ? "" : ` -X ${method}`;
    expect(page.replaceAll(" \\\n   ", ""), `${method} ${path}`).toContain(`curl -sS${verb} ${address}`);
  }
}, 60_000);
