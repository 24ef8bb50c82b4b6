import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { curlOf } from "../api/curl.ts";
import { type ApiProblem, toProblem } from "../api/problem.ts";
import { type ApiRequest, announceChange, change, get, keyed, wireOf } from "../api/request.ts";
import { useStay } from "../router.tsx";
import { Visible } from "../text/visible.tsx";
import { FormProblem } from "./form.tsx";
import { Copy, Loading, Note, ProblemNote } from "./parts.tsx";

export interface ActionProps<Answer, Row> {
  /** On the button that opens the dialog. */
  readonly label: string;
  readonly title: string;
  /** On the button that does it. */
  readonly submit: string;
  /** The row that the dialog is about, read when it opens: for rows of a list, which have no `ETag` of their own there. */
  readonly reads?: string;
  readonly request: (form: FormData, row: Row) => ApiRequest | Promise<ApiRequest>;
  /** What has to be typed before it can be done, for what cannot be taken back. */
  readonly typed?: string;
  readonly tone?: "plain" | "primary" | "danger";
  readonly small?: boolean;
  readonly disabled?: boolean;
  readonly onDone?: (answer: Answer) => void;
  readonly children?: ComponentChildren | ((row: Row) => ComponentChildren);
}

/** Refusals that the dialog, which stays as it was opened, can only meet again. */
const OVERTAKEN: ReadonlySet<string> = new Set(["probe_changed", "precondition_failed"]);

/**
 * A button, the question whether that is meant, and the request. The dialog asks, and the request says, what stood on the screen when it
 * was opened, whatever is read meanwhile. A refusal stays in the dialog with its sentence.
 */
export function Action<Answer = unknown, Row = undefined>(props: ActionProps<Answer, Row>) {
  const [opened, open] = useState<ActionProps<Answer, Row> | null>(null);
  const { label, tone = "plain", small = false, disabled = false } = props;
  return (
    <>
      <button
        type="button"
        class={`button ${tone} ${small ? "small" : ""}`}
        disabled={disabled}
        onClick={() => open(props)}
      >
        {label}
      </button>
      {opened !== null && <ActionDialog {...opened} onClose={() => open(null)} />}
    </>
  );
}

function ActionDialog<Answer, Row>(props: ActionProps<Answer, Row> & { readonly onClose: () => void }) {
  const { title, submit, reads, request, typed, tone = "plain", onDone, onClose, children } = props;
  const form = useRef<HTMLFormElement>(null);
  const [row, setRow] = useState<Row | undefined>(undefined);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [word, setWord] = useState("");
  const [curl, setCurl] = useState<string | null>(null);
  const made = useRef<{ readonly from: string; readonly request: ApiRequest } | null>(null);
  const isRead = reads === undefined || row !== undefined;

  useEffect(() => {
    if (reads === undefined) return;
    const controller = new AbortController();
    get<Row>(reads, controller.signal).then(setRow, (error) => {
      if (!controller.signal.aborted) setProblem(toProblem(error));
    });
    return () => controller.abort();
  }, [reads]);

  /** One request for what the form says, however often it is shown or sent. */
  const asked = async () => {
    const filled = new FormData(form.current ?? undefined);
    const from = JSON.stringify([...filled]);
    if (made.current?.from !== from) made.current = { from, request: keyed(await request(filled, row as Row)) };
    return made.current.request;
  };
  const act = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const answer = await change<Answer>(await asked());
      onClose();
      onDone?.(answer);
    } catch (error) {
      const refusal = toProblem(error);
      setProblem(refusal);
      setBusy(false);
      if (OVERTAKEN.has(refusal.code)) announceChange();
    }
  };
  const showCurl = async () => {
    if (form.current?.reportValidity() !== true) return;
    try {
      setCurl(curlOf(wireOf(await asked()), "ADMIN"));
    } catch (error) {
      setProblem(toProblem(error));
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form ref={form} onSubmit={act} onInput={() => setCurl(null)}>
        {isRead ? (
          <FormProblem.Provider value={problem}>
            {typeof children === "function" ? children(row as Row) : children}
          </FormProblem.Provider>
        ) : (
          problem === null && <Loading />
        )}
        {typed !== undefined && (
          <div class="field">
            <label for="typed-confirmation">
              Type <code>{typed}</code> to confirm
            </label>
            <input
              id="typed-confirmation"
              type="text"
              autoComplete="off"
              spellcheck={false}
              value={word}
              onInput={(event) => setWord(event.currentTarget.value)}
            />
          </div>
        )}
        {problem !== null && <ProblemNote problem={problem} />}
        {problem !== null && OVERTAKEN.has(problem.code) && (
          <p>Nothing was done. Close this, look at what is there now, and decide anew.</p>
        )}
        {curl !== null && (
          <div class="curl">
            <pre tabIndex={0}>{curl}</pre>
            <Copy text={curl} label="Copy" />
          </div>
        )}
        <div class="dialog-actions">
          <button type="button" class="button quiet" disabled={!isRead} onClick={showCurl}>
            Show as curl
          </button>
          <span class="spring" />
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={`button ${tone === "danger" ? "danger" : "primary"}`}
            disabled={isBusy || !isRead || (typed !== undefined && word !== typed)}
          >
            {isBusy ? "Working…" : submit}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function Dialog({
  title,
  onClose,
  isShownOnce = false,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  /** What it shows cannot be shown again: whatever would close it, but a button of it, is asked about. */
  readonly isShownOnce?: boolean;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [asks, ask] = useState(false);
  const leave = () => (isShownOnce ? ask(true) : onClose());
  useStay(isShownOnce, leave);
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const opened = dialog.current;
    opened?.showModal();
    return () => {
      // While it is open nothing outside it takes the focus.
      opened?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      // A browser closes a dialog at the second Escape, whatever `cancel` says.
      onClose={(event) => {
        if (!event.currentTarget.isConnected) return;
        event.currentTarget.showModal();
        leave();
      }}
    >
      <h2 id={id}>
        <Visible text={title} most={300} />
      </h2>
      {asks && isShownOnce && <LeaveQuestion onStay={() => ask(false)} onLeave={onClose} />}
      {children}
    </dialog>
  );
}

function LeaveQuestion({ onStay, onLeave }: { readonly onStay: () => void; readonly onLeave: () => void }) {
  const stay = useRef<HTMLButtonElement>(null);
  useEffect(() => stay.current?.focus(), []);
  return (
    <div role="alert">
      <Note tone="bad">
        <p>What is shown here is lost for good once you leave it. Have you copied it?</p>
        <div class="actions">
          <button ref={stay} type="button" class="button small" onClick={onStay}>
            Stay
          </button>
          <button type="button" class="button small danger" onClick={onLeave}>
            Leave it
          </button>
        </div>
      </Note>
    </div>
  );
}

/** The request that shows what a screen shows, or that a button of it makes, as a command. */
export function CurlOf(props: { readonly path: string } | { readonly request: () => ApiRequest }) {
  const request = () => ("path" in props ? { method: "GET" as const, path: props.path } : props.request());
  return <Copy label="Copy as curl" text={() => curlOf(wireOf(request()), "ADMIN")} />;
}
