import { useQuery } from "../api/query.ts";
import type { Impact } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";
import { Loaded } from "../ui/parts.tsx";
import { count, number } from "../ui/words.ts";

const SHOWN = 20;

/** Whom it hits when an origin goes out of service. */
export function BlastRadius({ originId }: { readonly originId: string }) {
  const query = useQuery<Impact>(`/origins/${originId}/impact`);
  return (
    <div class="note warn">
      <Loaded query={query}>
        {({ clients, clientsTotal, tools, callsLastDay }) => (
          <>
            <p>
              <strong>
                {count(clientsTotal, "client")} will lose {tools === null ? "its tools" : count(tools.length, "tool")}
              </strong>
              ; {count(callsLastDay, "call")} in the last 24 hours.
            </p>
            {clients.length > 0 && (
              <p>
                Clients: <Names all={clients.map(({ name }) => name)} total={clientsTotal} />
              </p>
            )}
            {tools !== null && tools.length > 0 && (
              <p>
                Tools: <Names all={tools} total={tools.length} />
              </p>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}

function Names({ all, total }: { readonly all: readonly string[]; readonly total: number }) {
  const rest = total - Math.min(SHOWN, all.length);
  return (
    <>
      <Visible text={all.slice(0, SHOWN).join(", ")} />
      {rest > 0 && <> and {number(rest)} more</>}
    </>
  );
}
