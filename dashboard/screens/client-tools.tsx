import { useQuery } from "../api/query.ts";
import type { Client, Origin, ToolRule } from "../api/types.ts";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { Select, TextArea, textOf } from "../ui/form.tsx";
import { Empty, Loaded, Section } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { useOriginNames } from "./origin-names.ts";
import { OriginPicker } from "./pickers.tsx";

/** Which tools of its origins a client sees: what is hidden is neither listed nor called. */
export function ClientTools({ client }: { readonly client: Client }) {
  const path = `/clients/${client.id}/tools`;
  const query = useQuery<{ readonly items: readonly ToolRule[] }>(path);
  const isAdmin = useMay("admin");
  const { nameOf } = useOriginNames();
  return (
    <Section
      title="Tools"
      hint="Without a rule a client sees every tool of an origin. A tool that is hidden is to this client as one that does not exist."
      actions={<CurlOf path={path} />}
    >
      <Loaded query={query}>
        {(read) => {
          const { items } = read;
          const hindrance = ({ id, status }: Origin) => {
            if (items.some(({ originId }) => originId === id)) return "has a rule";
            return status === "revoked" ? "revoked" : null;
          };
          const put = (rules: readonly ToolRule[]) => ({
            method: "PUT" as const,
            path,
            unchanged: read,
            body: { items: rules },
          });
          const others = (originId: string) => items.filter((rule) => rule.originId !== originId);
          return (
            <>
              <div class="actions">
                <Action
                  label="Add a rule"
                  title="Rule for an origin's tools"
                  submit="Add"
                  disabled={!isAdmin}
                  request={(form) => put([...items, ruleOf(form, textOf(form, "originId"))])}
                >
                  <OriginPicker label="Origin" name="originId" required hindrance={hindrance} />
                  <RuleFields />
                </Action>
              </div>
              {items.length === 0 ? (
                <Empty title="No rule: it sees every tool of its origins." />
              ) : (
                <Table
                  caption="Rules for tools"
                  rows={items}
                  keyOf={({ originId }) => originId}
                  columns={[
                    { head: "Origin", kind: "main", cell: ({ originId }) => <Visible text={nameOf(originId)} /> },
                    { head: "Allowed", cell: ({ allow }) => (allow === null ? "all" : <Names of={allow} />) },
                    { head: "Denied", cell: ({ deny }) => <Names of={deny} /> },
                    {
                      head: "Actions",
                      kind: "actions",
                      cell: (rule) => (
                        <>
                          <Action
                            label="Change"
                            title={`Tools of ${nameOf(rule.originId)}`}
                            submit="Save"
                            small
                            disabled={!isAdmin}
                            request={(form) => put([...others(rule.originId), ruleOf(form, rule.originId)])}
                          >
                            <RuleFields rule={rule} />
                          </Action>
                          <Action
                            label="Remove"
                            title={`Remove the rule for ${nameOf(rule.originId)}?`}
                            submit="Remove"
                            tone="danger"
                            small
                            disabled={!isAdmin}
                            request={() => put(others(rule.originId))}
                          >
                            <p>The client then sees every tool of that origin.</p>
                          </Action>
                        </>
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

function Names({ of }: { readonly of: readonly string[] }) {
  return of.length === 0 ? <span class="quiet">none</span> : <Visible text={of.join(", ")} most={300} />;
}

function RuleFields({ rule }: { readonly rule?: ToolRule }) {
  return (
    <>
      <Select
        label="It sees"
        name="mode"
        value={rule?.allow === null || rule === undefined ? "all" : "some"}
        options={[
          ["all", "every tool but those denied"],
          ["some", "only the tools allowed, but not those denied"],
        ]}
      />
      <TextArea
        label="Allowed tools"
        name="allow"
        class="code"
        defaultValue={rule?.allow?.join("\n") ?? ""}
        hint="Public names, one a line. Counts only where it sees only the tools allowed."
      />
      <TextArea
        label="Denied tools"
        name="deny"
        class="code"
        defaultValue={rule?.deny.join("\n") ?? ""}
        hint="Public names, one a line."
      />
    </>
  );
}

function ruleOf(form: FormData, originId: string): ToolRule {
  const names = (field: string) => [
    ...new Set(
      textOf(form, field)
        .split(/\s+/)
        .filter((name) => name !== ""),
    ),
  ];
  return { originId, allow: textOf(form, "mode") === "some" ? names("allow") : null, deny: names("deny") };
}
