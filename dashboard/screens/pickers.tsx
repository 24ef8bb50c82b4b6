import { queryOf } from "../api/query.ts";
import type { Client, Origin } from "../api/types.ts";
import { Picker, type PickerProps } from "../ui/picker.tsx";

type Given<Row> = Pick<
  PickerProps<Row>,
  "label" | "name" | "hint" | "hindrance" | "required" | "takesOther" | "value" | "onChoose"
>;

/** Finds an origin by its address. The form gets its id, or its address where that is what names it. */
export function OriginPicker({
  status,
  by = "id",
  ...given
}: Given<Origin> & { readonly status?: Origin["status"]; readonly by?: "id" | "origin" }) {
  return (
    <Picker<Origin>
      {...given}
      search={(q, limit) => `/origins${queryOf({ status, q, limit })}`}
      idOf={(origin) => origin[by]}
      textOf={({ origin }) => origin}
    />
  );
}

/** Finds an active client by its name. The form gets its id. */
export function ClientPicker(given: Given<Client>) {
  return (
    <Picker<Client>
      {...given}
      search={(q, limit) => `/clients${queryOf({ status: "active", q, limit })}`}
      idOf={({ id }) => id}
      textOf={({ name }) => name}
    />
  );
}
