import { useAll } from "../api/query.ts";
import type { Origin } from "../api/types.ts";

/** The addresses of origins by their ids, as far as they were read. */
export function useOriginNames(): { readonly origins: readonly Origin[]; readonly nameOf: (id: string) => string } {
  const origins = useAll<Origin>("/origins", 1_000).data ?? [];
  const names = new Map(origins.map(({ id, origin }) => [id, origin]));
  return { origins, nameOf: (id) => names.get(id) ?? id };
}
