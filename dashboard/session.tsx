import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { type ApiProblem, toProblem } from "./api/problem.ts";
import { onSessionEnd, readSession, signIn, signOut } from "./api/request.ts";
import type { Role, Session } from "./api/types.ts";
import { Loading, ProblemNote } from "./ui/parts.tsx";

interface SignedIn {
  readonly session: Session;
  readonly leave: () => void;
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

/** Shows its children to whoever is signed in, and the sign-in to everybody else. */
export function SessionGate({ children }: { readonly children: ComponentChildren }) {
  const [session, setSession] = useState<Session | null | undefined>(undefined);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [wasSignedIn, setWasSignedIn] = useState(false);

  const look = () => {
    setProblem(null);
    readSession().then(setSession, (error) => setProblem(toProblem(error)));
  };
  useEffect(() => {
    look();
    return onSessionEnd(() => {
      setWasSignedIn(true);
      setSession(null);
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
    const enter = (entered: Session) => {
      setWasSignedIn(false);
      setSession(entered);
    };
    return <SignIn hasEnded={wasSignedIn} onSignIn={enter} />;
  }
  const leave = () => {
    const gone = () => {
      setWasSignedIn(false);
      setSession(null);
    };
    signOut().then(gone, (error) => setProblem(toProblem(error)));
  };
  return <Current.Provider value={{ session, leave }}>{children}</Current.Provider>;
}

function SignIn({ hasEnded, onSignIn }: { readonly hasEnded: boolean; readonly onSignIn: (session: Session) => void }) {
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Skillgate";
  }, []);
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
    <main class="sign-in">
      <form class="card" onSubmit={enter}>
        <img src="/admin/icon.svg" alt="" width="40" height="40" />
        <h1>Skillgate console</h1>
        {hasEnded && <p role="status">Your session has ended. Sign in again to go on.</p>}
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
    </main>
  );
}
