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
        {({ clients, tools, callsLastDay }) => (
          <>
            <p>
              <strong>
                {count(clients.length, "client")} will lose {count(tools.length, "tool")}
              </strong>
              ; {count(callsLastDay, "call")} in the last 24 hours.
            </p>
            {clients.length > 0 && (
              <p>
                Clients: <Names all={clients.map(({ name }) => name)} />
              </p>
            )}
            {tools.length > 0 && (
              <p>
                Tools: <Names all={tools} />
              </p>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}

function Names({ all }: { readonly all: readonly string[] }) {
  const rest = all.length - SHOWN;
  return (
    <>
      <Visible text={all.slice(0, SHOWN).join(", ")} />
      {rest > 0 && <> and {number(rest)} more</>}
    </>
  );
}
