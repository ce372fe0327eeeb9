/** The files of a workspace as the server pages and sorts them, loaded where they are looked at. */

import { useEffect, useRef, useState } from "preact/hooks";
import { api, isAborted, isWaiting, type Shapes, take } from "../../api/client";
import { renewal } from "../../state/connection";
import { currentJob, progress, settled } from "../../state/jobs";
import { revision } from "../../state/workspaces";

export type Entry = Shapes["DocumentShape"];
export type State = Entry["state"] | "any" | "attention";

export interface Query {
  name: string;
  tag: string;
  state: State;
  sort: string;
}

export interface Listing {
  total: number;
  counts: Readonly<Record<string, number>>;
  at: (index: number) => Entry | undefined;
  /** Load these rows if they are not there. */
  show: (first: number, end: number) => void;
  error: Error | null;
  /** Whether nothing has arrived yet. */
  isFirst: boolean;
  reload: () => void;
}

const PART = 100;
const MOST_LISTED = 1_000;

interface Held {
  wanted: string;
  total: number;
  counts: Record<string, number>;
  parts: ReadonlyMap<number, readonly Entry[]>;
  error: Error | null;
}

/** Return the files that fit, which load again while a job finishes more of them. */
export function useListing(workspace: string, query: Query): Listing {
  const wanted = JSON.stringify([workspace, query]);
  const [held, setHeld] = useState<Held>({
    wanted: "",
    total: 0,
    counts: {},
    parts: new Map(),
    error: null,
  });
  const shown = useRef({ first: 0, end: 1 });
  const asked = useRef(new Set<number>());
  const [turn, setTurn] = useState(0);
  const version = `${wanted} ${revision.value} ${settled.value} ${renewal.value} ${turn}`;
  const current = useRef(version);
  const load = (part: number) => {
    if (!workspace || asked.current.has(part)) return;
    asked.current.add(part);
    const of = current.current;
    listFiles(workspace, query, part * PART, PART).then(
      ({ documents, total, counts }) => {
        if (current.current !== of) return;
        setHeld((before) => {
          const kept = before.wanted === wanted ? before.parts : [];
          return {
            wanted,
            total,
            counts,
            parts: new Map([...kept, [part, documents]]),
            error: null,
          };
        });
      },
      (error: unknown) => {
        asked.current.delete(part);
        if (isAborted(error) || isWaiting(error) || current.current !== of) return;
        const failure = error instanceof Error ? error : new Error(String(error));
        setHeld((before) => ({ ...before, error: failure }));
      },
    );
  };
  const show = (first: number, end: number) => {
    shown.current = { first, end };
    const last = Math.max(0, Math.ceil(end / PART) - 1);
    for (let part = Math.floor(first / PART); part <= last; part += 1) load(part);
  };
  useEffect(() => {
    if (current.current !== version) {
      current.current = version;
      asked.current = new Set();
    }
    show(shown.current.first, shown.current.end);
  }, [version]);
  return {
    total: held.total,
    counts: held.counts,
    at: (index) => held.parts.get(Math.floor(index / PART))?.[index % PART],
    show,
    error: held.error,
    isFirst: held.wanted === "" && held.error === null,
    reload: () => setTurn(turn + 1),
  };
}

/** Ask for some of the files that fit. */
export function listFiles(workspace: string, query: Query, start: number, limit: number) {
  return take(
    api.GET("/api/v1/workspaces/{workspace}/documents", {
      params: { path: { workspace }, query: { ...query, start, limit } },
    }),
  );
}

/** Return all files that fit. */
export async function listAll(workspace: string, query: Query): Promise<Entry[]> {
  const found: Entry[] = [];
  for (;;) {
    const { documents, next } = await listFiles(workspace, query, found.length, MOST_LISTED);
    found.push(...documents);
    if (next === null) return found;
  }
}

/** Return the name of a file as a person gave it: with its folders, without that of uploads. */
export function fileName({ uri, uploaded }: Pick<Entry, "uri" | "uploaded">): string {
  return uploaded ? uri.replace(/^uploads\//, "") : uri;
}

/** Return how a file is doing: the one in progress is read, others wait for a job or for nothing. */
export function stateOf(
  entry: Entry,
): "ready" | "reading" | "waiting" | "idle" | "attention" | "dismissed" {
  const job = currentJob.value;
  if (job && progress.value?.uri === entry.uri && entry.state !== "ready") return "reading";
  if (entry.state === "waiting") return job ? "waiting" : "idle";
  if (entry.state === "ready") return "ready";
  return entry.dismissed ? "dismissed" : "attention";
}
