import { z } from "zod";
import { table } from "../terminal.ts";

const ITEM = z.object({
  name: z.string(),
  status: z.enum(["created", "exists", "refused"]),
  code: z.string().nullable(),
  message: z.string().nullable(),
});

/** What a gateway says became of each thing that was moved in, or would become of it. */
const ANSWER = z.object({ clients: z.array(ITEM), origins: z.array(ITEM), reviewers: z.array(ITEM) });

export type ImportAnswer = z.infer<typeof ANSWER>;

/** `null` for an answer of another shape. */
export function readAnswer(answer: unknown): ImportAnswer | null {
  const read = ANSWER.safeParse(answer);
  return read.success ? read.data : null;
}

export function isAllAccepted({ clients, origins, reviewers }: ImportAnswer): boolean {
  return [...clients, ...origins, ...reviewers].every(({ status }) => status !== "refused");
}

export function answerText({ clients, origins, reviewers }: ImportAnswer): string {
  const rows = (kind: string, items: readonly z.infer<typeof ITEM>[]) =>
    items.map(({ name, status, code, message }) => [
      kind,
      name,
      status,
      code === null ? "" : `${code}: ${message ?? ""}`,
    ]);
  const all = [...rows("client", clients), ...rows("origin", origins), ...rows("reviewer", reviewers)];
  return all.length === 0 ? "There is nothing in what was given." : table(["what", "name", "status", "why"], all);
}
