/** A schema that rejects its skill at discovery with `bad_schema`. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly code = "bad_schema";
  /** JSON Pointer into the schema. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** Adds one token to a JSON Pointer (RFC 6901). */
export function pointer(base: string, token: string | number): string {
  return `${base}/${String(token).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
