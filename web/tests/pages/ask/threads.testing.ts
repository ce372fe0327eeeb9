/** Threads for tests: runs that are over, and a server that answers as the routes of the service do. */

import { type Answer, type Past, PLAIN, type Question, Run } from "../../../src/pages/ask/runs";

/** Return a run that has its answer. */
export function runOf(asked: Partial<Question>, answer: Answer, past: Partial<Past> = {}): Run {
  return new Run({ ...PLAIN, ...asked }, { answer, at: 1, ...past });
}

interface Stored {
  title: string;
  turns: unknown[];
}

/** Return the threads by id, and what answers requests for them. */
export function serveThreads() {
  const stored = new Map<string, Stored>();
  let made = 0;
  const answer = async (request: Request): Promise<Response> => {
    const id = new URL(request.url).pathname.split("/threads/")[1] ?? "";
    const reply = (data: unknown) => Response.json({ data, request_id: "r" });
    if (request.method === "POST") {
      made += 1;
      stored.set(`t${made}`, (await request.json()) as Stored);
      return reply({ id: `t${made}` });
    }
    const heads = [...stored].map(([each, { title, turns }]) => {
      return { id: each, title, turns: turns.length, updated: "" };
    });
    if (!id) return reply({ threads: heads });
    const found = stored.get(id);
    if (!found) return Response.json({ error: { code: "not_found" } }, { status: 404 });
    if (request.method === "DELETE") stored.delete(id);
    if (request.method === "PUT") Object.assign(found, await request.json());
    return reply({ id, ...found });
  };
  return { stored, answer };
}
