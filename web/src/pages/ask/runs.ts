/** Questions under way and answered: each a run. */

import { type Signal, signal } from "@preact/signals";
import { ApiError, asError, isAborted, type Shapes } from "../../api/client";
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
  /** What documents and pages must fulfil, as text; empty for nothing. */
  filter: string;
  /** The filter for the sources that were ticked; empty for all. */
  only: string;
  /** The question as it was corrected to stand alone; empty to read it after the turns before. */
  edited: string;
}

/** A question as it is asked if nothing else is chosen. */
export const PLAIN: Question = {
  workspace: "",
  text: "",
  retriever: "",
  mode: "auto",
  usesModel: true,
  filter: "",
  only: "",
  edited: "",
};

/** A question of before and its answer, which a later one may lean on. */
export type Turn = Shapes["TurnShape"];

export interface Stage {
  name: string;
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
/** Notes that have a place of their own beside an answer. */
const UNDERSTOOD = /^Understood as: /;
const REMOVED = /^(\d+) of \d+ statements? (?:was|were) left out\.$/;

/** What the names of ways begin with that search step by step. */
export const AGENT = "agent:";

/** What a run of before had come to. */
export interface Past {
  answer: Answer;
  evidence: Evidence | null;
  understood: string;
  at: number;
  isPartial: boolean;
}

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
  /** Whether files were still being read when it was asked. */
  isPartial: boolean;
  /** When it was asked, in milliseconds since 1970. */
  readonly at: number;

  private readonly abort = new AbortController();
  private readonly kept: string;
  private pending = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly question: Question,
    past: Partial<Past> = {},
  ) {
    this.at = past.at ?? Date.now();
    this.isPartial = past.isPartial ?? false;
    this.kept = past.understood ?? "";
    this.evidence.value = past.evidence ?? null;
    this.answer.value = past.answer ?? null;
    if (past.answer) this.state.value = "done";
  }

  /** The question as it was understood after the turns before; empty if that is not known. */
  get understood(): string {
    const { edited } = this.question;
    return edited || this.reply.value?.understood || this.evidence.value?.question || this.kept;
  }

  /** The notes on the answer that are not shown elsewhere. */
  get notes(): string[] {
    const notes = this.answer.value?.notes ?? [];
    return notes.filter((note) => !UNDERSTOOD.test(note) && !REMOVED.test(note));
  }

  /** How many sentences of a model were removed, because no passage says them. */
  get removed(): number {
    const counts = this.answer.value?.notes.map((note) => Number(REMOVED.exec(note)?.[1] ?? 0));
    return Math.max(0, ...(counts ?? []));
  }

  /** Ask, and take what comes until it is over; `onDone` gets a complete answer. */
  async start(way: Way, onDone?: () => void): Promise<void> {
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
    if (this.answer.value) onDone?.();
  }

  /** Stop; what came so far stays. */
  stop(): void {
    this.abort.abort();
    this.end("stopped");
  }

  /** Take one event of the stream. */
  take(event: ServerEvent): void {
    const data = event.data as Record<string, unknown>;
    if (event.name === "stage" || event.name === "step")
      this.stages.value = addStage(this.stages.value, readStage(data));
    else if (event.name === "sources") this.evidence.value = event.data as Evidence;
    else if (event.name === "text") this.feed(String(data.text ?? ""));
    else if (event.name === "withdrawn") {
      this.flush();
      this.text.value = "";
      this.withdrawn.value = String(data.reason ?? "");
    } else if (event.name === "reading") this.isPartial = true;
    else if (event.name === "done") {
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
    this.error.value = asError(error);
    this.end("failed");
  }
}

function readStage(data: Record<string, unknown>): Stage {
  const number = (value: unknown) => (typeof value === "number" ? value : 0);
  const step = number(data.number);
  return {
    name: step ? `step ${step}` : String(data.stage ?? ""),
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
  const isCount = stages.at(-1)?.name === stage.name;
  return [...(isCount ? stages.slice(0, -1) : stages), stage];
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
  const { workspace, retriever, mode, usesModel, filter, only, edited } = question;
  const text = edited || question.text;
  const filters = filter && only ? `(${filter}) and ${only}` : filter || only || null;
  const shared = { use_llm: usesModel, filters };
  const options = { ...shared, mode: mode || "auto", turns: edited ? [] : turns };
  const [path, body] = isConversation(question)
    ? ["chat/stream", { message: text, offers_only: !isSent, ...options }]
    : retriever.startsWith(AGENT)
      ? ["agent", { question: text, kind: retriever.slice(AGENT.length), ...shared }]
      : ["ask/stream", { question: text, retriever, ...options }];
  const base = `/api/v1/workspaces/${encodeURIComponent(workspace)}`;
  return new Request(`${base}/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}

/** How far an answer can be trusted, in a word. */
export type Verdict = "found" | "likely" | "absent";

/** Return the verdict on an answer; outlines and counts are read from the text itself. */
export function verdictOf({ answered, strength }: Answer): Verdict {
  if (!answered) return "absent";
  return strength === "weak" ? "likely" : "found";
}
