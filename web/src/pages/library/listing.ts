/** The files of a workspace as the server pages and sorts them, loaded where they are looked at. */

import { useMemo, useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { numbersBetween } from "../../components/virtual";
import { call } from "../../state/calls";
import { renewal } from "../../state/connection";
import { currentJob, progress, settled } from "../../state/jobs";
import { useLoaded } from "../../state/loading";
import { revision } from "../../state/workspaces";

/** The columns of files, and how wide each is. */
export const COLUMNS = {
  title: ["Title", "auto"],
  state: ["State", "142px"],
  pages: ["Pages", "60px"],
  chunks: ["Passages", "84px"],
  date: ["Date", "106px"],
  author: ["Author", "11%"],
  tags: ["Tags", "11%"],
  size: ["Size", "76px"],
} as const;

export type Entry = Shapes["DocumentShape"];
export type State = Entry["state"] | "any" | "attention";

export interface Query {
  name: string;
  tag: string;
  state: State;
  sort: string;
}

const PART = 100;
const MOST_LISTED = 1_000;

interface Held {
  total: number;
  counts: Readonly<Record<string, number>>;
  parts: Map<number, readonly Entry[]>;
}

/** Return the files that fit, which load again while a job finishes more of them. */
export function useListing(workspace: string, query: Query) {
  const turns = [revision.value, settled.value, renewal.value];
  const version = JSON.stringify([workspace, query, turns]);
  // All that came for a version; what is shown may still be that of the version before.
  const held = useMemo<Held>(() => ({ total: 0, counts: {}, parts: new Map() }), [version]);
  const [range, setRange] = useState<readonly number[]>([0]);
  const wanted = workspace && `${version} ${range}`;
  const loaded = useLoaded(
    wanted,
    async () => {
      const missing = range.filter((part) => !held.parts.has(part));
      const load = async (part: number) => {
        const { documents, ...rest } = await listFiles(workspace, query, part * PART, PART);
        held.parts.set(part, documents);
        Object.assign(held, rest);
      };
      await Promise.all(missing.map(load));
      return held;
    },
    { keepsOld: true },
  );
  const { total, counts, parts } = loaded.data ?? held;
  return {
    total,
    counts,
    at: (index: number) => parts.get(Math.floor(index / PART))?.[index % PART],
    /** Load these rows if they are not there. */
    show: (first: number, end: number) => {
      const from = Math.floor(first / PART);
      setRange(numbersBetween(from, Math.max(from + 1, Math.ceil(end / PART))));
    },
    /** Whether it has arrived, at least in part. */
    loaded,
  };
}

/** Ask for some of the files that fit. */
export function listFiles(workspace: string, query: Query, start: number, limit: number) {
  return call("get", "/documents", { workspace, query: { ...query, start, limit } });
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

/** Return what a file is called where there is room for little. */
export function titleOf(entry: Entry): string {
  const name = fileName(entry);
  return entry.title || name.split("/").at(-1) || name;
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
