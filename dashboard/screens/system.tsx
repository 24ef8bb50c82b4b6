import { useQuery } from "../api/query.ts";
import type { Health, Setting } from "../api/types.ts";
import { Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { TextArea, textOf } from "../ui/form.tsx";
import { Facts, Hash, Loaded, Moment, Screen, Section, State } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { phrase } from "../ui/words.ts";

interface TrustRoot {
  readonly id: string;
  readonly source: "embedded" | "operator";
  readonly setAt: number | null;
}

/** The gateway itself: whether it is well, by which settings it decides, and whose certificates it trusts. */
export function SystemScreen() {
  const health = useQuery<Health>("/health");
  const policy = useQuery<{ readonly items: readonly Setting[] }>("/policy");
  const root = useQuery<TrustRoot>("/trust-root");
  const isAdmin = useMay("admin");
  return (
    <Screen
      title="System"
      lead="What the gateway is made of, and the settings in force. Settings are changed where it is deployed."
    >
      <Section title="Health" actions={<CurlOf path="/health" />}>
        <Loaded query={health}>
          {({ status, parts, version }) => (
            <div class="card">
              <Facts
                items={[
                  ["Gateway", <State of={status} />],
                  ["Version", version],
                  ...Object.entries(parts).map(([name, state]) => [phrase(name), <State of={state} />] as const),
                ]}
              />
            </div>
          )}
        </Loaded>
      </Section>
      <Section
        title="Sigstore trust root"
        hint="Every Sigstore bundle is judged by it."
        actions={
          <>
            <CurlOf path="/trust-root" />
            <Action
              label="Replace"
              title="Replace the trust root"
              submit="Replace"
              tone="danger"
              disabled={!isAdmin || root.data === undefined}
              request={(form) => ({
                method: "PUT",
                path: "/trust-root",
                ...unchanged(root.data),
                body: rootOf(textOf(form, "root")),
              })}
            >
              <TextArea label="trusted_root.json" name="root" class="code" rows={10} required spellcheck={false} />
            </Action>
            <Action
              label="Back to the embedded one"
              title="Go back to the embedded trust root?"
              submit="Go back"
              tone="danger"
              disabled={!isAdmin || root.data?.source !== "operator"}
              request={() => ({ method: "DELETE", path: "/trust-root", ...unchanged(root.data) })}
            >
              <p>All bundles are judged by it within 5 seconds.</p>
            </Action>
          </>
        }
      >
        <Loaded query={root}>
          {({ id, source, setAt }) => (
            <div class="card">
              <Facts
                items={[
                  ["In force", source === "embedded" ? "the embedded one" : "one that an operator set"],
                  ["Set", <Moment at={setAt} />],
                  ["SHA-256", <Hash value={id} />],
                ]}
              />
            </div>
          )}
        </Loaded>
      </Section>
      <Section title="Settings in force" actions={<CurlOf path="/policy" />}>
        <Loaded query={policy}>
          {({ items }) => (
            <Table
              caption="Settings in force"
              rows={items}
              keyOf={({ name }) => name}
              columns={[
                { head: "Setting", kind: "main", cell: ({ name }) => <code>{name}</code> },
                { head: "Value", kind: "wide", cell: ({ value }) => <Value of={value} /> },
                { head: "Default", cell: ({ isDefault }) => (isDefault ? <span class="quiet">yes</span> : "no") },
              ]}
            />
          )}
        </Loaded>
      </Section>
      <p class="quiet">
        Every request that this console makes is one of the <a href="/admin/api/v1/docs">admin API</a>. What was changed
        is in the <Link href="/audit">audit log</Link>.
      </p>
    </Screen>
  );
}

function Value({ of }: { readonly of: Setting["value"] }) {
  const text = String(of);
  return text === "" ? <span class="quiet">not set</span> : <Visible text={text} most={400} />;
}

/** The root that was on the screen must still be in force. */
function unchanged(root: TrustRoot | undefined): { readonly unchanged?: TrustRoot } {
  return root === undefined ? {} : { unchanged: root };
}

function rootOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}`);
  }
}
