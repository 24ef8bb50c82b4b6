import { useQuery } from "../api/query.ts";
import type { Client, ClientLimit } from "../api/types.ts";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { numberOf, TextField, textOf } from "../ui/form.tsx";
import { Empty, Loaded, Section } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { limit } from "../ui/words.ts";
import { useOriginNames } from "./origin-names.ts";
import { OriginPicker } from "./pickers.tsx";

/** Limits beside those of the whole client: of one origin, or of one of its tools. */
export function ClientLimits({ client }: { readonly client: Client }) {
  const path = `/clients/${client.id}/limits`;
  const query = useQuery<{ readonly items: readonly ClientLimit[] }>(path);
  const isAdmin = useMay("admin");
  const { nameOf } = useOriginNames();
  return (
    <Section
      title="Limits"
      hint={`Of the whole client: ${limit(client.rpm)} calls a minute, ${limit(client.dailyQuota)} a day ("Change" above). Each limit below holds beside these.`}
      actions={<CurlOf path={path} />}
    >
      <Loaded query={query}>
        {(read) => {
          const { items } = read;
          const put = (limits: readonly ClientLimit[]) => ({
            method: "PUT" as const,
            path,
            unchanged: read,
            body: { items: limits },
          });
          return (
            <>
              <div class="actions">
                <Action
                  label="Add a limit"
                  title="Limit an origin or a tool"
                  submit="Add"
                  disabled={!isAdmin}
                  request={(form) => {
                    const added = {
                      originId: textOf(form, "originId"),
                      tool: textOf(form, "tool") || null,
                      rpm: numberOf(form, "rpm") as number,
                    };
                    return put([...items.filter((other) => !isSame(other, added)), added]);
                  }}
                >
                  <OriginPicker label="Origin" name="originId" required />
                  <TextField label="Tool" name="tool" hint="Its public name. Empty: the whole origin." />
                  <TextField label="Calls a minute" name="rpm" inputMode="numeric" required hint="0 blocks." />
                </Action>
              </div>
              {items.length === 0 ? (
                <Empty title="No limit but those of the whole client." />
              ) : (
                <Table
                  caption="Limits"
                  rows={items}
                  keyOf={({ originId, tool }) => `${originId} ${tool ?? ""}`}
                  columns={[
                    { head: "Origin", kind: "main", cell: ({ originId }) => <Visible text={nameOf(originId)} /> },
                    {
                      head: "Tool",
                      cell: ({ tool }) => (tool === null ? "all of them together" : <Visible text={tool} />),
                    },
                    { head: "Calls a minute", kind: "end", cell: ({ rpm }) => limit(rpm) },
                    {
                      head: "Actions",
                      kind: "actions",
                      cell: (row) => (
                        <Action
                          label="Remove"
                          title="Remove this limit?"
                          submit="Remove"
                          tone="danger"
                          small
                          disabled={!isAdmin}
                          request={() => put(items.filter((other) => !isSame(other, row)))}
                        >
                          <p>The limits of the whole client stay.</p>
                        </Action>
                      ),
                    },
                  ]}
                />
              )}
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}

function isSame(a: ClientLimit, b: ClientLimit): boolean {
  return a.originId === b.originId && a.tool === b.tool;
}
