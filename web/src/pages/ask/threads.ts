/** Threads: questions with their answers, one below the other; the server keeps those of each key. */

import { type Signal, signal } from "@preact/signals";
import { ApiError, type Shapes } from "../../api/client";
import { tellError } from "../../components/ErrorState";
import { addressOfFile, download } from "../../components/reader/files";
import { t } from "../../i18n";
import { announce } from "../../state/announcements";
import { call } from "../../state/calls";
import { isReading } from "../../state/jobs";
import {
  type Answer,
  type Evidence,
  PLAIN,
  type Question,
  Run,
  type Turn,
  verdictOf,
} from "./runs";
import { VERDICTS } from "./words";

/** What an answer of a thread has beside what the server said: how it was asked, and what was found. */
interface Kept extends Partial<Omit<Question, "workspace" | "text">> {
  evidence?: Evidence | null;
  isPartial?: boolean;
  /** Milliseconds since 1970. */
  at?: number;
}

/** Only the newest turns keep the passages that were found: a request may not be large. */
const MOST_WITH_PASSAGES = 12;
/** Of turns that are sent with a question, and of the characters of each. */
const MOST_TURNS = 6;
const TURN_CHARACTERS = 2_000;
const TITLE_CHARACTERS = 200;

/** Counts up with every change of what is kept, so that lists are loaded again. */
export const threadsTurn = signal(0);

/** Threads that are open, or go on while another page is shown. */
const live = new Set<Thread>();
/** The thread that each workspace showed last. */
export const shownThreads = new Map<string, Thread>();

const ONE = "/threads/{thread}";

export class Thread {
  readonly runs: Signal<readonly Run[]>;
  /** Empty until the server has its first answer. */
  readonly id: Signal<string>;
  private isTold = false;
  private saving: Promise<void> = Promise.resolve();

  constructor(
    readonly workspace: string,
    id = "",
    runs: readonly Run[] = [],
  ) {
    this.id = signal(id);
    this.runs = signal(runs);
    live.add(this);
  }

  /** The first question. */
  get title(): string {
    return this.runs.value[0]?.question.text ?? "";
  }

  /** Ask at the end, or instead of a run; `isSent` is false for what a link asks. */
  ask(question: Question, { isSent = true, instead }: { isSent?: boolean; instead?: Run } = {}) {
    const run = new Run(question, { isPartial: isReading.peek() });
    const runs = this.runs.peek();
    const at = instead ? runs.indexOf(instead) : runs.length;
    instead?.stop();
    this.runs.value = instead ? runs.with(at, run) : [...runs, run];
    void run.start({ turns: turnsOf(runs.slice(0, at)), isSent }, () => {
      this.save().catch((error: unknown) => {
        // Said once: a server that keeps nothing still answers.
        if (!this.isTold) announce(tellError(error), "bad");
        this.isTold = true;
      });
    });
    return run;
  }

  /** Have the server keep the turns that have answers. Throws ApiError. */
  save(): Promise<void> {
    // One after the other: the first one is given an id, which the others have to know.
    this.saving = this.saving.catch(() => undefined).then(() => this.send());
    return this.saving;
  }

  private async send(): Promise<void> {
    if (!live.has(this)) return;
    const { workspace } = this;
    const turns = turnsToKeep(this.runs.peek());
    const path = { workspace, thread: this.id.peek() };
    if (path.thread) {
      const sent =
        turns.length > 0
          ? call("put", ONE, { ...path, body: { turns } })
          : call("delete", ONE, path);
      // Somebody else may have deleted it meanwhile.
      if ((await unlessMissing<unknown>(sent)) === null || turns.length === 0) this.id.value = "";
    }
    if (!this.id.peek() && turns.length > 0) {
      const body = { title: this.title.slice(0, TITLE_CHARACTERS), turns };
      this.id.value = (await call("post", "/threads", { workspace, body })).id;
    }
    threadsTurn.value += 1;
  }
}

/** Have the browser save a thread as Markdown, which the server writes. Throws ApiError. */
export async function exportThread({ workspace, title, runs }: Thread): Promise<void> {
  const turns = runs.peek().map(({ question, understood, answer: { value: answer } }) => {
    const isOther = understood && understood !== question.text;
    const below = [
      isOther && t("Understood as: {question}", { question: understood }),
      answer && t(VERDICTS[verdictOf(answer)]),
    ];
    return {
      question: question.text.slice(0, TURN_CHARACTERS),
      understood: below.filter(Boolean).join(" · ").slice(0, TURN_CHARACTERS),
      answer: { ...answer },
    };
  });
  const body = JSON.stringify({ title: title.slice(0, TITLE_CHARACTERS), turns });
  await download(addressOfFile([workspace, "threads.md"]), "thread.md", body);
}

/** Return what a question may refer to: the last turns, the newest last. */
export function turnsOf(runs: readonly Run[]): Turn[] {
  const answered = runs.filter(({ answer }) => answer.peek()).slice(-MOST_TURNS);
  return answered.map((run) => {
    const answer = run.answer.peek();
    return {
      question: (run.understood || run.question.text).slice(0, TURN_CHARACTERS),
      answer: answer?.answered ? answer.answer.slice(0, TURN_CHARACTERS) : "",
    };
  });
}

/** Return the threads of a workspace, the one that changed last first. Throws ApiError. */
export async function listThreads(workspace: string): Promise<Shapes["ThreadHead"][]> {
  return (await call("get", "/threads", { workspace })).threads;
}

/** Return a thread by its id, or null. Throws ApiError. */
export async function openThread(workspace: string, id: string): Promise<Thread | null> {
  const open = [...live].find(
    (thread) => thread.workspace === workspace && thread.id.peek() === id,
  );
  if (open || !id) return open ?? null;
  const kept = await unlessMissing(call("get", ONE, { workspace, thread: id }));
  return kept && new Thread(workspace, id, kept.turns.map(restore(workspace)));
}

/** Forget a thread, or all of a workspace. Throws ApiError. */
export async function forgetThreads(workspace: string, id?: string): Promise<void> {
  for (const thread of live)
    if (thread.workspace === workspace && (!id || thread.id.peek() === id)) live.delete(thread);
  if (!live.has(shownThreads.get(workspace) as Thread)) shownThreads.delete(workspace);
  const ids = id ? [id] : (await listThreads(workspace)).map((head) => head.id);
  for (const thread of ids) await call("delete", ONE, { workspace, thread });
  threadsTurn.value += 1;
}

/** Forget the turns of a workspace whose answers are meant. Throws ApiError. */
export async function forgetAnswers(
  workspace: string,
  isMeant: (answer: Answer) => boolean,
): Promise<void> {
  for (const { id } of await listThreads(workspace)) await openThread(workspace, id);
  for (const thread of live) {
    if (thread.workspace !== workspace) continue;
    const runs = thread.runs.peek();
    const left = runs.filter(({ answer }) => !(answer.peek() && isMeant(answer.peek() as Answer)));
    if (left.length === runs.length) continue;
    thread.runs.value = left;
    await thread.save();
  }
}

/** Return what the server sends, or null for what it does not have. Throws ApiError. */
async function unlessMissing<T>(sent: Promise<T>): Promise<T | null> {
  try {
    return await sent;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

function turnsToKeep(runs: readonly Run[]): Shapes["GivenTurn"][] {
  const answered = runs.filter(({ answer }) => answer.peek());
  return answered.map((run, index) => {
    const { workspace: _, text, ...asked } = run.question;
    const { at, isPartial, understood } = run;
    const isNew = answered.length - index <= MOST_WITH_PASSAGES;
    const kept: Kept = { ...asked, at, isPartial, evidence: isNew ? run.evidence.peek() : null };
    return {
      question: text.slice(0, TURN_CHARACTERS),
      understood: understood.slice(0, TURN_CHARACTERS),
      answer: { ...run.answer.peek(), kept },
    };
  });
}

function restore(workspace: string) {
  return ({ question: text, understood, answer }: Shapes["ThreadTurnShape"]): Run => {
    const { kept = {}, ...said } = answer as unknown as Answer & { kept?: Kept };
    const { evidence = null, isPartial = false, at = 0, ...asked } = kept;
    const question = { ...PLAIN, ...asked, workspace, text };
    return new Run(question, { answer: said, evidence, understood, at, isPartial });
  };
}
