import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type ApiProblem, toProblem } from "./api/problem.ts";
import { useQuery } from "./api/query.ts";
import { announceChange, findSession, onSession, signIn, signOut } from "./api/request.ts";
import type { Role, Session } from "./api/types.ts";
import { Visible } from "./text/visible.tsx";
import { Dialog } from "./ui/action.tsx";
import { Loading, ProblemNote } from "./ui/parts.tsx";

interface SignedIn {
  readonly session: Session;
  /** Ends the session of this console. @returns Whether it has ended. */
  readonly leave: () => Promise<boolean>;
}

const Current = createContext<SignedIn | null>(null);

export function useSession(): SignedIn {
  const current = useContext(Current);
  if (current === null) throw new Error("Nobody is signed in here.");
  return current;
}

const RANKS: Readonly<Record<Role, number>> = { viewer: 0, reviewer: 1, admin: 2 };

/** Whether who is signed in may do what needs a role. The gateway decides; the console only spares a refusal. */
export function useMay(role: Role): boolean {
  return RANKS[useSession().session.operator.role] >= RANKS[role];
}

/**
 * Shows its children to whoever is signed in, and the sign-in to everybody else. A session that ends under the children leaves them as they
 * are, with the sign-in over them: what was typed is there when the same operator is back.
 */
export function SessionGate({ children }: { readonly children: ComponentChildren }) {
  const [session, setSession] = useState<Session | null | undefined>(undefined);
  const [hasEnded, setEnded] = useState(false);
  const [isReplaced, setReplaced] = useState(false);
  const [refusal, setRefusal] = useState<ApiProblem | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);

  const look = () => {
    setProblem(null);
    findSession().then(
      (found) => {
        setSession(found.session);
        // That nobody is signed in yet needs no saying; that somebody was refused does.
        setRefusal(found.session === null && found.refusal.errors.length > 0 ? found.refusal : null);
      },
      (error) => setProblem(toProblem(error)),
    );
  };
  useEffect(() => {
    look();
    return onSession((next) => {
      if (next === null) return setEnded(true);
      setSession(next);
      setReplaced(true);
    });
  }, []);

  if (problem !== null) {
    return (
      <main class="sign-in">
        <ProblemNote problem={problem} retry={look} />
      </main>
    );
  }
  if (session === undefined) {
    return (
      <main class="sign-in">
        <Loading what="Looking whether you are signed in" />
      </main>
    );
  }
  if (session === null) {
    return (
      <main class="sign-in">
        <SignIn refusal={refusal} onSignIn={setSession} />
      </main>
    );
  }
  const leave = () =>
    signOut().then(
      () => {
        setSession(null);
        return true;
      },
      (error) => {
        setProblem(toProblem(error));
        return false;
      },
    );
  const comeBack = (again: Session) => {
    setEnded(false);
    setSession(again);
    announceChange();
  };
  return (
    <>
      <Current.Provider key={session.operator.id ?? "ADMIN_TOKEN"} value={{ session, leave }}>
        {children}
        <FollowOperator shown={session} onChange={setSession} />
      </Current.Provider>
      {isReplaced && <Replaced by={session.operator.name} onClose={() => setReplaced(false)} />}
      {hasEnded && <SignInOver onSignIn={comeBack} />}
    </>
  );
}

/** Looks after each change of an operator whether who is signed in has another role or name now. */
function FollowOperator({
  shown,
  onChange,
}: {
  readonly shown: Session;
  readonly onChange: (session: Session) => void;
}) {
  const { data } = useQuery<Session>("/session");
  useEffect(() => {
    // Whoever signed in in another tab is no change of this one: the next request tells it.
    if (data === undefined || data.operator.id !== shown.operator.id) return;
    const isSame = data.operator.role === shown.operator.role && data.operator.name === shown.operator.name;
    if (!isSame) onChange(data);
  }, [data]);
  return null;
}

/** Another tab of this browser signed somebody else in: nothing is done in that name that was asked for in another. */
function Replaced({ by, onClose }: { readonly by: string; readonly onClose: () => void }) {
  return (
    <Dialog title="Somebody else is signed in now" onClose={onClose}>
      <div class="section">
        <p>
          In another tab of this browser <Visible text={by} most={100} /> signed in. What you asked for last was not
          done.
        </p>
        <div class="dialog-actions">
          <button type="button" class="button primary" onClick={onClose}>
            Go on in that name
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** The sign-in over a screen whose session has ended; nothing beside it can be used. */
function SignInOver({ onSignIn }: { readonly onSignIn: (session: Session) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = () => {
    if (dialog.current?.open === false) dialog.current.showModal();
  };
  useLayoutEffect(open, []);
  return (
    <dialog
      ref={dialog}
      class="sign-in-over"
      aria-label="Sign in again"
      onCancel={(event) => event.preventDefault()}
      onClose={open}
    >
      <SignIn hasEnded onSignIn={onSignIn} />
    </dialog>
  );
}

function SignIn({
  hasEnded = false,
  refusal = null,
  onSignIn,
}: {
  readonly hasEnded?: boolean;
  /** Why what the browser brought along did not do. */
  readonly refusal?: ApiProblem | null;
  readonly onSignIn: (session: Session) => void;
}) {
  const [problem, setProblem] = useState<ApiProblem | null>(refusal);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    if (!hasEnded) document.title = "Sign in · Skillgate";
  }, [hasEnded]);
  const enter = async (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setProblem(null);
    try {
      onSignIn(await signIn(String(form.get("token")).trim()));
    } catch (error) {
      setProblem(toProblem(error));
      setBusy(false);
    }
  };
  return (
    <form class="card" onSubmit={enter}>
      <img src="/admin/icon.svg" alt="" width="40" height="40" />
      <h1>Skillgate console</h1>
      {hasEnded && <p role="status">Your session has ended. Sign in again to go on where you were.</p>}
      <div class="field">
        <label for="token">Operator token</label>
        <input id="token" name="token" type="password" autoComplete="current-password" required />
        <p class="hint">
          A token of an operator (<code>sgo_…</code>), or the gateway's <code>ADMIN_TOKEN</code> while that is not
          retired. It is exchanged for a session and not kept.
        </p>
      </div>
      {problem !== null && <ProblemNote problem={problem} />}
      <button type="submit" class="button primary" disabled={isBusy}>
        {isBusy ? "Signing in…" : "Sign in"}
      </button>
    </form>
  );
}
