import { useQuery } from "../api/query.ts";
import type { Client } from "../api/types.ts";
import { useMay } from "../session.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { numberOf, TextField, textOf } from "../ui/form.tsx";
import { Facts, Hash, Loaded, Moment, Screen, State, Tabs } from "../ui/parts.tsx";
import { count, limit } from "../ui/words.ts";
import { ClientGrants } from "./client-grants.tsx";
import { ClientLimits } from "./client-limits.tsx";
import { ClientTokens } from "./client-tokens.tsx";
import { ClientTools } from "./client-tools.tsx";
import { listAddress } from "./filters.ts";
import { UsageOf } from "./usage.tsx";

/** One tenant. */
export function ClientScreen({ id, tab }: { readonly id: string; readonly tab: string }) {
  const query = useQuery<Client>(`/clients/${id}`);
  return (
    <Screen
      title={query.data?.name ?? "Client"}
      back={{ href: listAddress("/clients"), label: "Clients" }}
      actions={
        <>
          <CurlOf path={`/clients/${id}`} />
          {query.data !== undefined && <Steps client={query.data} />}
        </>
      }
    >
      <Loaded query={query}>
        {(client) => (
          <>
            <div class="card">
              <Facts
                items={[
                  ["Status", <State of={client.status} />],
                  ["Calls a minute", limit(client.rpm)],
                  ["Calls a day", limit(client.dailyQuota)],
                  ["Origins", client.grants === "all" ? "all active ones" : count(client.grants.length, "origin")],
                  ["Created", <Moment at={client.createdAt} />],
                  ["Id", <Hash value={client.id} what="id" />],
                ]}
              />
            </div>
            <Tabs
              label="About this client"
              current={tab}
              tabs={[
                { id: "tokens", href: `/clients/${id}`, label: "Tokens" },
                { id: "grants", href: `/clients/${id}/grants`, label: "Origins" },
                { id: "tools", href: `/clients/${id}/tools`, label: "Tools" },
                { id: "limits", href: `/clients/${id}/limits`, label: "Limits" },
                { id: "usage", href: `/clients/${id}/usage`, label: "Usage" },
              ]}
            />
            <Tab client={client} tab={tab} />
          </>
        )}
      </Loaded>
    </Screen>
  );
}

function Tab({ client, tab }: { readonly client: Client; readonly tab: string }) {
  if (tab === "grants") return <ClientGrants client={client} />;
  if (tab === "tools") return <ClientTools client={client} />;
  if (tab === "limits") return <ClientLimits client={client} />;
  if (tab === "usage") return <UsageOf client={client.id} by={["tool", "origin"]} />;
  return <ClientTokens client={client} />;
}

function Steps({ client }: { readonly client: Client }) {
  const isAdmin = useMay("admin");
  const isActive = client.status === "active";
  const step = isActive ? "suspend" : "resume";
  return (
    <>
      <Action
        label="Change"
        title={`Change ${client.name}`}
        submit="Save"
        disabled={!isAdmin}
        request={(form) => ({
          method: "PATCH",
          path: `/clients/${client.id}`,
          unchanged: client,
          body: { name: textOf(form, "name"), rpm: numberOf(form, "rpm"), dailyQuota: numberOf(form, "dailyQuota") },
        })}
      >
        <TextField label="Name" name="name" required maxLength={100} defaultValue={client.name} />
        <TextField
          label="Calls a minute"
          name="rpm"
          inputMode="numeric"
          defaultValue={client.rpm === null ? "" : String(client.rpm)}
          hint="Empty: unlimited. 0 blocks."
        />
        <TextField
          label="Calls a day"
          name="dailyQuota"
          inputMode="numeric"
          defaultValue={client.dailyQuota === null ? "" : String(client.dailyQuota)}
          hint="Empty: unlimited. 0 blocks."
        />
      </Action>
      <Action
        label={isActive ? "Suspend" : "Resume"}
        title={`${isActive ? "Suspend" : "Resume"} ${client.name}?`}
        submit={isActive ? "Suspend" : "Resume"}
        tone={isActive ? "danger" : "primary"}
        disabled={!isAdmin}
        request={() => ({
          method: "POST",
          path: `/clients/${client.id}/${step}`,
          unchanged: client,
        })}
      >
        <p>
          {isActive
            ? "Every token of it is refused within 5 seconds. Nothing is deleted: it can be resumed."
            : "Its tokens that are neither expired nor revoked work again."}
        </p>
      </Action>
    </>
  );
}
