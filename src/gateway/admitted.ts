import type { Catalog, WithheldSkill } from "../core/catalog.ts";
import type { Release } from "../core/discovery/release.ts";

/** Catalogs are kept while nothing moves, and their header with them. */
const headers = new WeakMap<Catalog, string>();

/** The value of `X-Gw-Attestations`: verdicts of what there is, counted before any is left out. */
export function attestationsHeader(catalog: Catalog): string {
  let header = headers.get(catalog);
  if (header === undefined) {
    const { attested, expired, invalid, unattested } = catalog.counts;
    header = `attested=${attested},expired=${expired},invalid=${invalid},unattested=${unattested}`;
    headers.set(catalog, header);
  }
  return header;
}

const REASONS: Readonly<Record<WithheldSkill["code"], string>> = {
  awaiting_approval: "wait for an operator's approval",
  unconfirmed: "could not be compared with what was approved",
  rejected: "were rejected by an operator",
  revoked_hash: "were revoked by an operator",
  not_attested: "have no reviewer's attestation in force",
};

/** Why an origin that has skills offers none, in numbers alone; nothing where it has none to begin with. */
export function whyNone({ withheld }: Catalog, { rejected }: Release): { readonly message?: string } {
  // A hash that was revoked before the origin was read was not loaded.
  const codes: readonly string[] = [...withheld, ...rejected].map(({ code }) => code);
  const reasons = Object.entries(REASONS).flatMap(([code, reason]) => {
    const count = codes.filter((each) => each === code).length;
    return count === 0 ? [] : [`${count} ${reason}`];
  });
  if (reasons.length === 0) return {};
  return { message: `The origin offers no skill that may be used: ${reasons.join(", ")}.` };
}
