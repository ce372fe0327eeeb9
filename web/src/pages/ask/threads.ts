/** Threads: questions with their answers, one below the other, kept for each workspace. */

import { type Signal, signal } from "@preact/signals";
import { isReading } from "../../state/jobs";
import { keep, recall } from "../../state/preferences";
import { type Answer, type Evidence, type Question, Run, type Turn } from "./runs";

type Asked = Omit<Question, "workspace" | "text">;

/** A question of a thread as it is kept. */
export interface KeptTurn extends Partial<Asked> {
  question: string;
  answer?: Answer;
  evidence?: Evidence | null;
  understood?: string;
  isPartial?: boolean;
  /** Milliseconds since 1970. */
  at?: number;
}

export interface KeptThread {
  id: string;
  title: string;
  turns: KeptTurn[];
  /** Milliseconds since 1970. */
  updated: number;
}

const MOST = 40;
/** Only the newest turns keep the passages that were found: a browser's storage is small. */
const MOST_WITH_PASSAGES = 12;
/** Of turns that are sent with a question, and of the characters of each. */
const MOST_TURNS = 6;
const TURN_CHARACTERS = 2_000;

/** Counts up with every change of what is kept, so that lists are drawn again. */
export const threadsTurn = signal(0);

const name = (workspace: string) => `threads.${workspace}`;
const live = new Map<string, Thread>();
const keyOf = (workspace: string, id: string) => `${workspace} ${id}`;

/** A thread that is open, or goes on while another page is shown. */
export class Thread {
  readonly runs: Signal<readonly Run[]>;

  constructor(
    readonly workspace: string,
    readonly id = `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`,
    runs: readonly Run[] = [],
  ) {
    this.runs = signal(runs);
    live.set(keyOf(workspace, id), this);
  }

  /** The first question. */
  get title(): string {
    return this.runs.value[0]?.question.text ?? "";
  }

  /** Ask at the end, or in the place of a run; `isSent` is false for what a link asks. */
  ask(question: Question, { isSent = true, instead }: { isSent?: boolean; instead?: Run } = {}) {
    const run = new Run(question, { isPartial: isReading.peek() });
    const runs = this.runs.peek();
    const at = instead ? runs.indexOf(instead) : runs.length;
    instead?.stop();
    this.runs.value = instead ? runs.with(at, run) : [...runs, run];
    void run.start({ turns: turnsOf(runs.slice(0, at)), isSent }, () => save(this));
    return run;
  }
}

/** Return what a question may refer to: the last turns, the newest last. */
export function turnsOf(runs: readonly Run[]): Turn[] {
  return runs
    .filter(({ answer }) => answer.peek() !== null)
    .slice(-MOST_TURNS)
    .map((run) => {
      const answer = run.answer.peek();
      return {
        question: (run.understood || run.question.text).slice(0, TURN_CHARACTERS),
        answer: answer?.answered ? answer.answer.slice(0, TURN_CHARACTERS) : "",
      };
    });
}

/** Return the threads of a workspace, the one that changed last first. */
export function listThreads(workspace: string): KeptThread[] {
  void threadsTurn.value;
  try {
    const kept: unknown = JSON.parse(recall(name(workspace)) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isKept) : [];
  } catch {
    return [];
  }
}

/** Return a thread by its id, or null if there is none. */
export function openThread(workspace: string, id: string): Thread | null {
  const open = live.get(keyOf(workspace, id));
  if (open) return open;
  const kept = listThreads(workspace).find((thread) => thread.id === id);
  return kept ? new Thread(workspace, id, kept.turns.flatMap(restore(workspace))) : null;
}

/** Forget a thread, or all of a workspace. */
export function forgetThreads(workspace: string, id?: string): void {
  for (const [key, thread] of live) {
    if (thread.workspace === workspace && (!id || thread.id === id)) live.delete(key);
  }
  write(workspace, id ? listThreads(workspace).filter((thread) => thread.id !== id) : []);
}

/** Forget the turns of a workspace whose answers are meant. */
export function forgetAnswers(workspace: string, isMeant: (answer: Answer) => boolean): void {
  const stays = (answer: Answer | null | undefined) => !answer || !isMeant(answer);
  for (const thread of live.values()) {
    if (thread.workspace !== workspace) continue;
    thread.runs.value = thread.runs.peek().filter(({ answer }) => stays(answer.peek()));
  }
  const left = listThreads(workspace).map((thread) => {
    const turns = thread.turns.filter(({ answer }) => stays(answer));
    return { ...thread, turns };
  });
  write(
    workspace,
    left.filter(({ turns }) => turns.length > 0),
  );
}

/** Keep a thread with its answers. */
export function save(thread: Thread): void {
  const turns = thread.runs.peek().flatMap(keepRun);
  if (!turns.length || !live.has(keyOf(thread.workspace, thread.id))) return;
  const others = listThreads(thread.workspace).filter(({ id }) => id !== thread.id);
  const kept = { id: thread.id, title: thread.title, turns, updated: Date.now() };
  write(thread.workspace, [kept, ...others]);
}

function write(workspace: string, threads: readonly KeptThread[]): void {
  let room = MOST_WITH_PASSAGES;
  const slim = threads.slice(0, MOST).map((thread) => {
    const newestFirst = thread.turns.toReversed().map((turn) => {
      room -= 1;
      return room < 0 ? { ...turn, evidence: null } : turn;
    });
    return { ...thread, turns: newestFirst.reverse() };
  });
  keep(name(workspace), slim.length ? JSON.stringify(slim) : null);
  threadsTurn.value += 1;
}

function keepRun(run: Run): KeptTurn[] {
  const answer = run.answer.peek();
  if (!answer) return [];
  const { workspace: _, text, ...asked } = run.question;
  const { at, isPartial, understood } = run;
  const evidence = run.evidence.peek();
  return [{ question: text, ...asked, answer, evidence, understood, isPartial, at }];
}

function restore(workspace: string) {
  return ({ question: text, answer, ...kept }: KeptTurn): Run[] => {
    if (!answer) return [];
    const { retriever = "", mode = "auto", usesModel = true } = kept;
    const { filter = "", only = "", edited = "" } = kept;
    const { evidence = null, understood = "", isPartial = false, at = 0 } = kept;
    const question = { workspace, text, retriever, mode, usesModel, filter, only, edited };
    return [Run.restore(question, { answer, evidence, understood }, { at, isPartial })];
  };
}

function isKept(value: unknown): value is KeptThread {
  const { id, title, turns, updated } = (value ?? {}) as Partial<KeptThread>;
  return (
    typeof id === "string" &&
    typeof title === "string" &&
    typeof updated === "number" &&
    Array.isArray(turns) &&
    turns.every(
      (turn) => typeof turn?.question === "string" && typeof turn.answer?.answer === "string",
    )
  );
}
