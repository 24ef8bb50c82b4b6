import { useState } from "preact/hooks";
import { curlOf } from "../api/curl.ts";
import type { Exchange } from "../api/mcp.ts";
import { Visible, visibleParts } from "../text/visible.tsx";
import { Copy } from "../ui/parts.tsx";

/** Characters of a message or a result, until somebody asks for more: each may be hidden, and then is an element of its own. */
export const SHOWN_MESSAGE = 8_000;

/** A request and its answer, as they went over the wire. */
export function ExchangeView({ exchange: one }: { readonly exchange: Exchange }) {
  // Thirty of them may have a megabyte each: what is closed is not laid out.
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {one.method} · {one.status === 0 ? "no answer" : one.status} · {Math.round(one.ms)} ms
      </summary>
      {isOpen && <Messages exchange={one} />}
    </details>
  );
}

function Messages({ exchange: one }: { readonly exchange: Exchange }) {
  return (
    <div class="section">
      <div class="actions">
        <Copy text={() => curlOf(one.wire, "CLIENT_TOKEN")} label="Copy as curl" />
        <Copy text={one.request} label="Copy request" />
        <Copy text={one.response} label="Copy answer" />
      </div>
      {one.timing.length > 0 && (
        <table class="timing">
          <caption class="unseen">Time of each step</caption>
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">Milliseconds</th>
            </tr>
          </thead>
          <tbody>
            {[...one.timing, { step: "as the browser saw it", ms: one.ms }].map(({ step, ms }) => (
              <tr key={step}>
                <td>{step}</td>
                <td>{ms.toFixed(1)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <h3>Request</h3>
      <pre class="box" tabIndex={0} aria-label="Request" role="region">
        <Visible text={one.request} most={SHOWN_MESSAGE} />
      </pre>
      <h3>Answer</h3>
      <pre class="box" tabIndex={0} aria-label="Answer" role="region">
        {one.headers.map(([name, value]) => visibleParts(`${name}: ${value}\n`))}
        {"\n"}
        <Visible text={one.response} most={SHOWN_MESSAGE} />
      </pre>
    </div>
  );
}
