/** A schema that rejects its skill at discovery with `bad_schema`. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly code = "bad_schema";
  /** JSON Pointer into the schema. */
  readonly path: string;

  constructor(place: Place, message: string) {
    super(message);
    this.path = pointerOf(place);
  }
}

/**
 * A place in a schema: `null` is the root. Places are made for every keyword and written out for the one that is wrong,
 * since a thousand places below a key of 30,000 characters would be 30 million characters of JSON Pointers.
 */
export type Place = null | { readonly base: Place; readonly token: string | number };

/** The place one step below. */
export function below(base: Place, token: string | number): Place {
  return { base, token };
}

/** The JSON Pointer of a place (RFC 6901). */
function pointerOf(place: Place): string {
  const tokens: string[] = [];
  for (let at = place; at !== null; at = at.base) {
    tokens.push(`/${String(at.token).replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
  return tokens.reverse().join("");
}
