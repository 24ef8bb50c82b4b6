// A payments tool in an untrusted script. The key of the payment provider stays with the program: the script can ask for a payment of an
// order that the program knows, and for nothing else. Run it: `node payments.ts`, with `skillgate` installed, the import below being "skillgate".
import { AsyncToolHost, CapabilityError } from "../../index.ts";

/** What would be the HTTP API of a payment provider. */
export type PaymentApi = (
  key: string,
  payment: { readonly cents: number; readonly reference: string },
) => Promise<{ readonly id: string; readonly status: string }>;

/** The script, as somebody else may have written it. */
export const PAYMENT_TOOL = `registerTool({
  name: "pay_order",
  description: "Pays an open order.",
  inputSchema: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  handler({ order }) {
    const { id, status } = host.callInternal("payments.create", { order });
    return { paid: status === "succeeded", payment: id };
  },
})`;

export interface Till {
  /** Amounts in cents by order. */
  readonly orders: ReadonlyMap<string, number>;
  /** Never in an argument, a result or an error of the sandbox. */
  readonly secretKey: string;
  readonly api: PaymentApi;
  /** Told what went wrong, which the tool is not. */
  onError?(error: unknown): void;
}

/** A host whose tools can pay the orders of a till. */
export async function createTillHost({ orders, secretKey, api, onError }: Till): Promise<AsyncToolHost> {
  const host = new AsyncToolHost({
    extraCapabilities: {
      async callInternal(action: unknown, parameters: unknown) {
        if (action !== "payments.create") throw new CapabilityError("There is no such action.");
        const order = String((parameters as { order?: unknown } | null)?.order);
        // The amount is the program's: the script names an order, never a sum.
        const cents = orders.get(order);
        if (cents === undefined) throw new CapabilityError("There is no such order.");
        const { id, status } = await api(secretKey, { cents, reference: order });
        return { id, status };
      },
    },
    onCapabilityError: (_name, error) => onError?.(error),
  });
  await host.init();
  host.loadToolSource(PAYMENT_TOOL);
  return host;
}
