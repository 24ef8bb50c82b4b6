import { type ComponentChildren, createContext } from "preact";
import { useContext, useId } from "preact/hooks";
import type { ApiProblem } from "../api/problem.ts";
import { visibleParts, visibleText } from "../text/visible.tsx";

/** The refusal that the form around a field met. */
export const FormProblem = createContext<ApiProblem | null>(null);

export type Described = { readonly label: string; readonly hint?: ComponentChildren; readonly name: string };

type FieldEvent<T> = (event: Event & { readonly currentTarget: T }) => void;

interface InputProps {
  readonly type?: "text" | "search" | "date" | "datetime-local";
  readonly inputMode?: "numeric" | "decimal" | "url" | "email";
  readonly value?: string;
  readonly defaultValue?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly title?: string;
  readonly min?: string;
  readonly onInput?: FieldEvent<HTMLInputElement>;
  readonly onChange?: FieldEvent<HTMLInputElement>;
}

interface AreaProps {
  readonly class?: string;
  readonly rows?: number;
  readonly defaultValue?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly spellcheck?: boolean;
}

interface SelectProps {
  readonly value?: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly onChange?: FieldEvent<HTMLSelectElement>;
}

export function useDescription({ name, hint }: Described) {
  const id = useId();
  const problem = useContext(FormProblem);
  const errors = problem?.errors.filter(({ field }) => field === name || field.startsWith(`${name}.`)) ?? [];
  const describedBy = [hint !== undefined && `${id}-hint`, errors.length > 0 && `${id}-error`]
    .filter(Boolean)
    .join(" ");
  return {
    id,
    errors,
    aria: {
      id,
      name,
      ...(describedBy === "" ? {} : { "aria-describedby": describedBy }),
      ...(errors.length === 0 ? {} : { "aria-invalid": true as const }),
    },
  };
}

export function Frame({
  id,
  label,
  hint,
  errors,
  children,
}: {
  readonly id: string;
  readonly label: string;
  readonly hint: ComponentChildren;
  readonly errors: readonly { readonly message: string }[];
  readonly children: ComponentChildren;
}) {
  return (
    <div class="field">
      <label for={id}>{visibleParts(label)}</label>
      {children}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {errors.length > 0 && (
        <p class="field-error" id={`${id}-error`}>
          {errors.map(({ message }) => message).join("; ")}
        </p>
      )}
    </div>
  );
}

export function TextField(props: Described & InputProps) {
  const { label, hint, name, type = "text", ...input } = props;
  const { id, errors, aria } = useDescription(props);
  return (
    <Frame id={id} label={label} hint={hint} errors={errors}>
      <input autoComplete="off" spellcheck={false} {...input} type={type as "text"} {...aria} />
    </Frame>
  );
}

/** Narrows a list as it is typed in. */
export function SearchField({ label, name = "q", placeholder, value, onSearch }: SearchFieldProps) {
  const search = (event: { readonly currentTarget: HTMLInputElement }) => onSearch(event.currentTarget.value);
  return (
    <TextField
      label={label}
      name={name}
      type="search"
      value={value}
      onInput={search}
      {...(placeholder === undefined ? {} : { placeholder })}
    />
  );
}

interface SearchFieldProps {
  readonly label: string;
  readonly name?: string;
  readonly placeholder?: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
}

export function TextArea(props: Described & AreaProps) {
  const { label, hint, name, ...input } = props;
  const { id, errors, aria } = useDescription(props);
  return (
    <Frame id={id} label={label} hint={hint} errors={errors}>
      <textarea rows={4} {...input} {...aria} />
    </Frame>
  );
}

export function Select(props: Described & SelectProps) {
  const { label, hint, name, options, value, ...input } = props;
  const { id, errors, aria } = useDescription(props);
  return (
    <Frame id={id} label={label} hint={hint} errors={errors}>
      <select {...input} {...aria}>
        {options.map(([key, text]) => (
          <option key={key} value={key} selected={key === value}>
            {visibleText(text)}
          </option>
        ))}
      </select>
    </Frame>
  );
}

export function Check(props: Described & { readonly defaultChecked?: boolean; readonly required?: boolean }) {
  const { label, hint, name, ...input } = props;
  const { id, aria } = useDescription(props);
  return (
    <div class="field check">
      <input type="checkbox" {...input} {...aria} />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** A field's text, trimmed; empty where the form has none. */
export function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}

/** A whole number; null for an empty field; what is no number stays as it was written, for the gateway to refuse by name. */
export function numberOf(form: FormData, name: string): number | string | null {
  const text = textOf(form, name);
  if (text === "") return null;
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}
