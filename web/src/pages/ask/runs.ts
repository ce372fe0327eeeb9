/** Questions under way and answered: each a run, kept while the pages are open. */

import { type Signal, signal } from "@preact/signals";
import { ApiError, isAborted, type Shapes } from "../../api/client";
import { type ServerEvent, streamEvents } from "../../api/events";

export type Answer = Shapes["AnswerShape"];
export type Evidence = Shapes["EvidenceShape"];
export type Citation = Shapes["CitationShape"];
export type Hit = Shapes["HitShape"];
export type Reply = Shapes["ChatReplyShape"];

export interface Question {
  workspace: string;
  text: string;
  /** Empty is what the server chooses. */
  retriever: string;
  mode: string;
  usesModel: boolean;
  /** The question that this one goes on from; empty for none. */
  after: string;
  /** What documents and pages must fulfil, as text; empty for nothing. */
  filter: string;
}

/** A question of before and its answer, which a later one may lean on. */
export type Turn = Shapes["TurnShape"];

export interface Stage {
  name: string;
  /** Milliseconds after the question was sent. */
  at: number;
  passages: number;
  names: readonly string[];
  model: string;
  done: number;
  total: number;
  /** Of a step of an agent: what it searched for. */
  search: string;
}

export type RunState = "running" | "done" | "stopped" | "failed";

/** Milliseconds between two drawings of a text that comes. */
const FLUSH_MS = 100;
const MOST_KEPT = 30;

/** What the names of ways begin with that search step by step, and those of their stages. */
export const AGENT = "agent:";
export const STEP = "step ";

export class Run {
  readonly stages: Signal<readonly Stage[]> = signal([]);
  readonly evidence: Signal<Evidence | null> = signal(null);
  readonly text = signal("");
  /** Why the text so far does not count, where it does not. */
  readonly withdrawn = signal("");
  readonly answer: Signal<Answer | null> = signal(null);
  /** What was made of statements in the message: facts that were stored, or are offered. */
  readonly reply: Signal<Reply | null> = signal(null);
  readonly error: Signal<Error | null> = signal(null);
  readonly state: Signal<RunState> = signal("running");
  /** When it was asked, if it is one of before. */
  readonly at: number;

  private readonly abort = new AbortController();
  private readonly began = performance.now();
  private pending = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly question: Question,
    at = Date.now(),
  ) {
    this.at = at;
  }

  /** Return a run that was over before. */
  static restore(question: Question, answer: Answer, evidence: Evidence | null, at: number): Run {
    const run = new Run(question, at);
    run.answer.value = answer;
    run.evidence.value = evidence;
    run.state.value = "done";
    return run;
  }

  /** Ask, and take what comes until it is over; `onDone` gets a complete answer. */
  async start(way: Way, onDone: (run: Run) => void): Promise<void> {
    try {
      const request = requestOf(this.question, way, this.abort.signal);
      for await (const event of streamEvents(request)) {
        this.take(event);
      }
      if (this.state.value === "running") this.fail(new ApiError("cut", "", "", 0));
    } catch (error) {
      if (this.abort.signal.aborted || isAborted(error)) this.end("stopped");
      else this.fail(error);
    }
    if (this.answer.value) onDone(this);
  }

  /** Stop; what came so far stays. */
  stop(): void {
    this.abort.abort();
    this.end("stopped");
  }

  /** Take one event of the stream. */
  take(event: ServerEvent): void {
    const data = event.data as Record<string, unknown>;
    const at = performance.now() - this.began;
    if (event.name === "stage" || event.name === "step")
      this.stages.value = addStage(this.stages.value, readStage(data, at));
    else if (event.name === "sources") this.evidence.value = event.data as Evidence;
    else if (event.name === "text") this.feed(String(data.text ?? ""));
    else if (event.name === "withdrawn") {
      this.flush();
      this.text.value = "";
      this.withdrawn.value = String(data.reason ?? "");
    } else if (event.name === "done") {
      const reply = isConversation(this.question) ? (event.data as Reply) : null;
      this.reply.value = reply;
      this.answer.value = reply ? reply.answer : (event.data as Answer);
      this.end("done");
    } else if (event.name === "error") {
      const { code, message, fix } = data;
      this.fail(new ApiError(String(code ?? ""), String(message ?? ""), String(fix ?? ""), 0));
    }
  }

  private feed(piece: string): void {
    this.pending += piece;
    // Drawn ten times a second at most: each drawing reads the end of the text again.
    this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.pending) this.text.value += this.pending;
    this.pending = "";
  }

  private end(state: RunState): void {
    if (this.state.value !== "running") return;
    this.flush();
    this.state.value = state;
  }

  private fail(error: unknown): void {
    this.error.value = error instanceof Error ? error : new Error(String(error));
    this.end("failed");
  }
}

function readStage(data: Record<string, unknown>, at: number): Stage {
  const number = (value: unknown) => (typeof value === "number" ? value : 0);
  const step = number(data.number);
  return {
    name: step ? `${STEP}${step}` : String(data.stage ?? ""),
    at,
    passages: number(data.passages),
    names: Array.isArray(data.names) ? data.names.map(String) : [],
    model: String(data.model ?? ""),
    done: number(data.done),
    total: number(data.total),
    search: step ? String(data.question ?? "") : "",
  };
}

/** Add a stage; one that counts on takes the place of its last count. */
function addStage(stages: readonly Stage[], stage: Stage): readonly Stage[] {
  const last = stages.at(-1);
  if (last?.name !== stage.name) return [...stages, stage];
  return [...stages.slice(0, -1), { ...stage, at: last.at }];
}

/** Whether the memory is searched first: ways that are chosen or compared search documents alone. */
export function isConversation({ retriever }: Question): boolean {
  return retriever === "";
}

/** How a question is put. */
export interface Way {
  turns: readonly Turn[];
  /** Whether somebody sent it here; what a link asks to be remembered is only offered. */
  isSent: boolean;
}

function requestOf(question: Question, { turns, isSent }: Way, signal: AbortSignal): Request {
  const { workspace, text, retriever, mode, usesModel, filter } = question;
  const filters = filter || null;
  const options = { mode: mode || "auto", use_llm: usesModel, turns, filters };
  const [path, body] = isConversation(question)
    ? ["chat/stream", { message: text, offers_only: !isSent, ...options }]
    : retriever.startsWith(AGENT)
      ? [
          "agent",
          { question: text, kind: retriever.slice(AGENT.length), use_llm: usesModel, filters },
        ]
      : ["ask/stream", { question: text, retriever, ...options }];
  const base = `/api/v1/workspaces/${encodeURIComponent(workspace)}`;
  return new Request(`${base}/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}

const runs = new Map<string, Run>();
/** Questions that were sent here and not opened yet. */
const sent = new Set<string>();

export function keyOf(question: Question): string {
  const { workspace, text, retriever, mode, usesModel, after, filter } = question;
  return JSON.stringify([workspace, text, retriever, mode, usesModel, after, filter]);
}

/** Note that somebody sends a question here: neither a link nor the history asks it. */
export function markSent(question: Question): void {
  sent.add(keyOf(question));
}

/** Forget the runs of a workspace whose answers are meant. */
export function dropRuns(workspace: string, isMeant: (answer: Answer) => boolean): void {
  for (const [key, { question, answer }] of runs) {
    const known = answer.peek();
    if (question.workspace === workspace && known && isMeant(known)) runs.delete(key);
  }
}

/** Return the run of a question: the one there is, or one of before, or a new one.
 *
 * One that was sent here is asked again if it only stated something, or if the memory has
 * changed since.
 */
export function openRun(
  question: Question,
  {
    restore,
    before,
    onDone,
    fresh = false,
    changedAt = () => 0,
  }: {
    restore: (question: Question) => Run | null;
    before: (question: Question) => readonly Turn[];
    onDone: (run: Run) => void;
    fresh?: boolean;
    /** When the memory of a workspace changed last. */
    changedAt?: (workspace: string) => number;
  },
): Run {
  const key = keyOf(question);
  const wasSent = sent.delete(key);
  const isCurrent = (run: Run) =>
    !fresh && !(wasSent && (hasOnlyHeard(run) || run.at < changedAt(question.workspace)));
  const known = runs.get(key);
  const isUsable = known && known.state.peek() !== "failed";
  if (isUsable && isCurrent(known)) return known;
  known?.stop();
  const restored = fresh ? null : restore(question);
  const kept = restored && isCurrent(restored) ? restored : null;
  const run = kept ?? new Run(question);
  runs.delete(key);
  runs.set(key, run);
  for (const old of [...runs.keys()].slice(0, -MOST_KEPT)) runs.delete(old);
  if (!kept) void run.start({ turns: before(question), isSent: fresh || wasSent }, onDone);
  return run;
}

function hasOnlyHeard({ state, answer }: Run): boolean {
  return state.peek() === "done" && answer.peek() === null;
}
