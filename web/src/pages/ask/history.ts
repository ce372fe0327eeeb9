/** Questions of before with their answers, kept in this browser for each workspace. */

import { signal } from "@preact/signals";
import { keep, recall } from "../../state/preferences";
import { type Answer, type Evidence, keyOf, type Question, Run, type Turn } from "./runs";

export interface Kept {
  question: Question;
  answer: Answer;
  evidence: Evidence | null;
  /** Milliseconds since 1970. */
  at: number;
}

const MOST = 40;
/** Only the newest keep their passages: a browser's storage is small. */
const MOST_WITH_PASSAGES = 12;
/** Of turns before a question, and of the characters of each. */
const MOST_TURNS = 6;
const TURN_CHARACTERS = 2_000;
/** The confidence from which an answer is more likely right than not. */
const LIKELY_RIGHT = 0.5;

const name = (workspace: string) => `history.${workspace}`;

/** Counts up with every change, so that lists are redrawn. */
export const historyTurn = signal(0);

/** Return the questions of a workspace, the newest first. */
export function readHistory(workspace: string): Kept[] {
  const text = recall(name(workspace));
  if (!text) return [];
  try {
    const kept: unknown = JSON.parse(text);
    return Array.isArray(kept) ? kept.filter(isKept).map(fill) : [];
  } catch {
    return [];
  }
}

function isKept(value: unknown): value is Kept {
  if (typeof value !== "object" || value === null) return false;
  const { question, answer, at } = value as Partial<Kept>;
  return (
    typeof question?.text === "string" &&
    typeof answer?.answer === "string" &&
    typeof at === "number"
  );
}

/** Return an entry with what earlier versions of the pages did not keep. */
function fill(entry: Kept): Kept {
  const { after = "", filter = "" } = entry.question;
  const { answered, confidence } = entry.answer;
  const rated = confidence === null ? null : confidence >= LIKELY_RIGHT ? "strong" : "weak";
  const { strength = answered ? rated : "none", memory = [], pieces = [] } = entry.answer;
  return {
    ...entry,
    question: { ...entry.question, after, filter },
    answer: { ...entry.answer, strength, memory, pieces },
  };
}

function writeHistory(workspace: string, entries: readonly Kept[]): void {
  const slim = entries
    .slice(0, MOST)
    .map((entry, index) => (index < MOST_WITH_PASSAGES ? entry : { ...entry, evidence: null }));
  keep(name(workspace), slim.length ? JSON.stringify(slim) : null);
  historyTurn.value += 1;
}

/** Keep a run that is over. */
export function addToHistory(run: Run): void {
  const answer = run.answer.peek();
  if (!answer) return;
  const { question } = run;
  const others = readHistory(question.workspace).filter(
    (entry) => keyOf(entry.question) !== keyOf(question),
  );
  const entry = { question, answer, evidence: run.evidence.peek(), at: run.at };
  writeHistory(question.workspace, [entry, ...others]);
}

/** Return a run of before, if the question is known. */
export function restoreRun(question: Question): Run | null {
  const found = readHistory(question.workspace).find(
    (entry) => keyOf(entry.question) === keyOf(question),
  );
  return found ? Run.restore(question, found.answer, found.evidence, found.at) : null;
}

/** Return the questions that one goes on from with their answers, the last one last. */
export function turnsBefore({ workspace, after }: Question): Turn[] {
  const entries = readHistory(workspace);
  const turns: Turn[] = [];
  for (let text = after; text && turns.length < MOST_TURNS; ) {
    const found = entries.find(({ question }) => question.text === text);
    if (!found) break;
    const answer = found.answer.answered ? found.answer.answer : "";
    turns.unshift({
      question: text.slice(0, TURN_CHARACTERS),
      answer: answer.slice(0, TURN_CHARACTERS),
    });
    text = found.question.after;
  }
  return turns;
}

/** Forget the questions of a workspace whose answers are meant. */
export function forgetAnswers(workspace: string, isMeant: (answer: Answer) => boolean): void {
  writeHistory(
    workspace,
    readHistory(workspace).filter(({ answer }) => !isMeant(answer)),
  );
}

/** Forget one question, or all of a workspace. */
export function forget(workspace: string, question?: Question): void {
  const left = question
    ? readHistory(workspace).filter((entry) => keyOf(entry.question) !== keyOf(question))
    : [];
  writeHistory(workspace, left);
}
