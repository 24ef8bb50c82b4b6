import { useEffect, useState } from "preact/hooks";
import { get } from "../api/request.ts";
import type { Operator } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";

/** The sign-in with `ADMIN_TOKEN`, as rows name it. */
const BOOTSTRAP = "admin-token";
const OPERATOR_ID = /^opr_[0-9a-f]{24}$/;

/** Names by the operators' ids, each asked for once: many rows name the same few people. One that could not be read is asked for again. */
const names = new Map<string, Promise<string>>();

/** What whoever did something is called, by the id that its row keeps. */
export function nameOfOperator(id: string): Promise<string> {
  if (id === BOOTSTRAP) return Promise.resolve("ADMIN_TOKEN");
  if (!OPERATOR_ID.test(id)) return Promise.resolve(id);
  const known = names.get(id);
  if (known !== undefined) return known;
  const asked = get<Operator>(`/operators/${id}`).then(
    ({ name }) => name,
    () => {
      names.delete(id);
      return id;
    },
  );
  names.set(id, asked);
  return asked;
}

/** Who did something: by the name, and until that is known by the id, which the audit log has too. */
export function OperatorName({ id }: { readonly id: string }) {
  const [named, setNamed] = useState({ id, name: id });
  useEffect(() => {
    let isShown = true;
    void nameOfOperator(id).then((name) => isShown && setNamed({ id, name }));
    return () => {
      isShown = false;
    };
  }, [id]);
  return (
    <span title={id}>
      <Visible text={named.id === id ? named.name : id} most={120} />
    </span>
  );
}
