import { useId, useState } from "preact/hooks";
import type { JsonSchema } from "../../dashboard/api/mcp.ts";
import { argumentsOf, hasForm, SchemaFields } from "../../dashboard/screens/schema-form.tsx";
import { Markdown } from "../../dashboard/text/markdown.tsx";
import { Source } from "../../dashboard/text/source.tsx";
import { Visible, visibleParts } from "../../dashboard/text/visible.tsx";
import { TextArea, textOf } from "../../dashboard/ui/form.tsx";
import type { StaticTool } from "../../src/browser/web.ts";

type Answer =
  | { readonly state: "calling" }
  | { readonly state: "value"; readonly json: string }
  | { readonly state: "failed"; readonly reason: string };

/** One verified tool: what it says of itself, its recipe, and a form that calls it. All of its words are its publisher's. */
export function ToolCard({
  tool,
  recipe,
  call,
}: {
  readonly tool: StaticTool;
  readonly recipe: string | undefined;
  readonly call: (args: object) => Promise<unknown>;
}) {
  const title = useId();
  const [answer, setAnswer] = useState<Answer | null>(null);
  const schema = tool.inputSchema as JsonSchema;
  const isForm = hasForm(schema);

  const submit = async (form: FormData) => {
    setAnswer({ state: "calling" });
    try {
      const args = isForm ? argumentsOf(schema, form) : JSON.parse(textOf(form, "arguments") || "{}");
      const value = await call(args);
      setAnswer({ state: "value", json: JSON.stringify(value, null, 2) });
    } catch (error) {
      setAnswer({ state: "failed", reason: error instanceof Error ? error.message : String(error) });
    }
  };

  return (
    <article class="card tool" aria-labelledby={title}>
      <h3 id={title}>{visibleParts(tool.name)}</h3>
      {tool.description !== undefined && (
        <p>
          <Visible text={tool.description} />
        </p>
      )}
      <p class="quiet hash">SHA-256 {tool.verified_sha256}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit(new FormData(event.currentTarget));
        }}
      >
        {isForm ? (
          <SchemaFields schema={schema} />
        ) : (
          <TextArea name="arguments" label="Arguments" class="code" rows={4} placeholder="JSON" />
        )}
        <button type="submit" class="button primary" disabled={answer?.state === "calling"}>
          Call {visibleParts(tool.name)}
        </button>
      </form>
      <div aria-live="polite">
        {answer?.state === "calling" && <p>Calling…</p>}
        {answer?.state === "failed" && <p class="note bad">{visibleParts(answer.reason)}</p>}
        {answer?.state === "value" && <Source text={answer.json} label={`Result of ${tool.name}`} language="text" />}
      </div>
      {recipe !== undefined && (
        <details>
          <summary>Recipe (SKILL.md)</summary>
          <Markdown text={recipe} label={`Recipe of ${tool.name}`} />
        </details>
      )}
    </article>
  );
}
