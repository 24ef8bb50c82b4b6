import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useReading, useSettled } from "../api/query.ts";
import { get } from "../api/request.ts";
import type { Page } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";
import { type Described, Frame, useDescription } from "./form.tsx";
import { Badge } from "./parts.tsx";
import { count } from "./words.ts";

/** So many rows are offered at once; typing finds the others. */
const OFFERED = 20;

export interface PickerProps<Row> extends Described {
  /** The list that is asked for what was typed. */
  readonly search: (q: string, limit: number) => string;
  /** What the form gets, and what the list shows. */
  readonly idOf: (row: Row) => string;
  readonly textOf: (row: Row) => string;
  /** Why a row cannot be chosen; null: it can. */
  readonly hindrance?: (row: Row) => string | null;
  readonly required?: boolean;
  /** What was typed counts by itself, even where no row has it. */
  readonly takesOther?: boolean;
  /** Of a field that takes what was typed: what it has, however it came by it. */
  readonly value?: string;
  readonly onChoose?: (value: string, row: Row | null) => void;
}

interface Choice {
  readonly value: string;
  readonly text: string;
}

const NOTHING: Choice = { value: "", text: "" };

/**
 * A field that finds one row of a list of any length: an editable combobox with a list (WAI-ARIA 1.2 authoring practices). The API is
 * asked once the typing pauses. Of a list with a single row, that row is chosen to begin with.
 */
export function Picker<Row>(props: PickerProps<Row>) {
  const { label, hint, name, search, idOf, textOf, hindrance = () => null, required, takesOther, onChoose } = props;
  const { id, errors, aria } = useDescription(props);
  const listId = useId();
  const [chosen, setChosen] = useState<Choice>(NOTHING);
  const [typed, type] = useState("");
  const [isOpen, open] = useState(false);
  const [at, setAt] = useState(-1);
  const isTouched = useRef(false);
  const { value: given } = props;
  const list = useRef<HTMLDivElement>(null);
  // An open list shows what fits what is typed; the text of what was chosen is no question.
  const asked = useSettled(typed === chosen.text ? "" : typed.trim());
  const path = search(asked, OFFERED);
  const query = useReading<Page<Row>>(path, (signal) => get<Page<Row>>(path, signal), true);
  const rows = query.data?.items ?? [];
  const hasMore = query.data?.nextCursor !== null;

  const choose = (row: Row | null, text = row === null ? "" : textOf(row)) => {
    const value = row === null ? (takesOther ? text : "") : idOf(row);
    setChosen({ value, text });
    type(text);
    open(false);
    setAt(-1);
    if (value !== chosen.value) onChoose?.(value, row);
  };
  useEffect(() => {
    if (given === undefined || given === chosen.value) return;
    setChosen({ value: given, text: given });
    type(given);
  }, [given]);
  const sole = asked === "" && !takesOther && rows.length === 1 && !hasMore ? rows[0] : undefined;
  useEffect(() => {
    if (sole !== undefined && !isTouched.current && hindrance(sole) === null) choose(sole);
  }, [sole]);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at]);

  const move = (step: number) => {
    if (!isOpen) return open(true);
    setAt(rows.length === 0 ? -1 : (Math.max(at, step > 0 ? -1 : 0) + step + rows.length) % rows.length);
  };
  const leave = () => {
    if (takesOther) choose(null, typed.trim());
    else if (typed.trim() === "") choose(null);
    else type(chosen.text);
    open(false);
    setAt(-1);
  };
  /** What Enter does: it sends no form whose field says one thing and shows another. */
  const take = (row: Row | undefined) => {
    if (row !== undefined && hindrance(row) === null) choose(row);
    else if (takesOther) choose(null, typed.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[at];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Escape" && isOpen) leave();
    else if (event.key === "Enter" && isOpen && (row !== undefined || typed !== chosen.text)) {
      take(row ?? (rows.length === 1 && !takesOther && !query.isLoading ? rows[0] : undefined));
    } else return;
    event.preventDefault();
  };
  return (
    <Frame id={id} label={label} hint={hint} errors={errors}>
      <div class="picker">
        <input
          {...aria}
          name={undefined}
          type="text"
          role="combobox"
          autoComplete="off"
          spellcheck={false}
          placeholder="Type to search"
          required={required}
          aria-autocomplete="list"
          aria-expanded={isOpen}
          aria-controls={listId}
          aria-activedescendant={isOpen && at >= 0 ? `${listId}-${at}` : undefined}
          value={typed}
          onInput={(event) => {
            isTouched.current = true;
            type(event.currentTarget.value);
            open(true);
            setAt(-1);
          }}
          onClick={() => open(true)}
          onBlur={leave}
          onKeyDown={onKeyDown}
        />
        <input type="hidden" name={name} value={chosen.value} />
        <div
          ref={list}
          id={listId}
          class="picker-list"
          role="listbox"
          aria-label={label}
          hidden={!isOpen}
          // The field keeps the focus.
          onMouseDown={(event) => event.preventDefault()}
        >
          {rows.map((row, index) => {
            const why = hindrance(row);
            return (
              <div
                key={idOf(row)}
                id={`${listId}-${index}`}
                role="option"
                aria-selected={index === at}
                aria-disabled={why !== null}
                tabIndex={-1}
                onMouseDown={() => why === null && choose(row)}
              >
                <Visible text={textOf(row)} most={200} />
                {why !== null && <Badge tone="quiet">{why}</Badge>}
              </div>
            );
          })}
          {rows.length === 0 && (
            <div role="option" aria-selected={false} aria-disabled tabIndex={-1}>
              {query.problem?.message ?? (query.isLoading ? "Searching…" : "Nothing fits.")}
            </div>
          )}
        </div>
        <p class={isOpen && hasMore && rows.length > 0 ? "hint" : "unseen"} role="status">
          {!isOpen || query.isLoading
            ? ""
            : hasMore
              ? `The first ${rows.length}: type more of it.`
              : count(rows.length, "result")}
        </p>
      </div>
    </Frame>
  );
}
