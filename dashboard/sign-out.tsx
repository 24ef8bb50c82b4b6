import { useState } from "preact/hooks";
import { useSession } from "./session.tsx";
import { Dialog } from "./ui/action.tsx";

/** The way out; where Cloudflare Access would let the browser in again, it says so and leads to the end of that too. */
export function SignOut() {
  const { session, leave } = useSession();
  const [asks, ask] = useState(false);
  const { accessLogout } = session;
  return (
    <>
      <button type="button" class="button small" onClick={accessLogout === null ? leave : () => ask(true)}>
        Sign out
      </button>
      {asks && accessLogout !== null && (
        <Dialog title="Sign out of Cloudflare Access too?" onClose={() => ask(false)}>
          <div class="section">
            <p>
              Cloudflare Access stands before this console and lets your browser in. Its session ends at{" "}
              <code>{accessLogout}</code> on this host; until then whoever opens the console in this browser is you.
            </p>
            <div class="dialog-actions">
              <button type="button" class="button" onClick={() => ask(false)}>
                Stay signed in
              </button>
              <button
                type="button"
                class="button primary"
                onClick={() => leave().then((isOut) => isOut && location.assign(accessLogout))}
              >
                Sign out of both
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}
