/** What a new evaluation asks, and how it is sent. */

import { errorOf, type Shapes, send } from "../../api/client";
import { workspace } from "../../state/location";
import { writeLines } from "./questions";
import { loadQuestions, type Run, writeQuestions } from "./runs";

export const SOURCES = ["file", "written", "again"] as const;
export type Source = (typeof SOURCES)[number];

export interface Plan {
  name: string;
  source: Source;
  file: File | null;
  written: string;
  /** The id of the run whose questions are asked again. */
  again: string;
  unanswerable: File | null;
  retrievers: readonly string[];
  /** Retrievers that are composed, as one writes them. */
  composed: string;
  /** The text of a filter that documents and pages must fulfil; empty for none. */
  filter: string;
  answers: boolean;
  useModel: boolean;
  budget: string;
}

export const NEW_PLAN: Plan = {
  name: "",
  source: "written",
  file: null,
  written: "",
  again: "",
  unanswerable: null,
  retrievers: ["auto", "hybrid", "bm25"],
  composed: "",
  filter: "",
  answers: false,
  useModel: false,
  budget: "",
};

/** Return whether a plan has questions and retrievers. */
export function isWhole(plan: Plan): boolean {
  const asked = {
    file: plan.file !== null,
    written: plan.written.trim() !== "",
    again: plan.again !== "",
  };
  return asked[plan.source] && (plan.retrievers.length > 0 || plan.composed.trim() !== "");
}

/** Send a plan; return the run that begins. Throws ApiError. */
export async function startRun(plan: Plan): Promise<Run> {
  const form = new FormData();
  for (const [field, file] of Object.entries(await readFiles(plan))) {
    if (file) form.append(field, file, file.name);
  }
  for (const retriever of plan.retrievers) form.append("retrievers", retriever);
  if (plan.composed.trim()) form.append("retrievers", plan.composed.trim());
  form.append("name", plan.name.trim());
  form.append("filters", plan.filter);
  form.append("answers", String(plan.answers));
  form.append("use_llm", String(plan.useModel));
  if (plan.useModel) form.append("budget", plan.budget.trim());
  const address = `/api/v1/workspaces/${encodeURIComponent(workspace.value)}/evaluations`;
  const response = await send(new Request(address, { method: "POST", body: form }));
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(response, body);
  return (body as Shapes["Envelope_EvaluationShape_"]).data;
}

async function readFiles(plan: Plan): Promise<Record<string, File | null>> {
  const unanswerable = plan.answers ? plan.unanswerable : null;
  if (plan.source === "file") return { questions: plan.file, unanswerable };
  if (plan.source === "written") {
    return { questions: textFile("questions.jsonl", writeLines(plan.written)), unanswerable };
  }
  const asked = await loadQuestions(workspace.value, plan.again);
  const without = asked.unanswerable.length > 0 && plan.answers;
  return {
    questions: textFile("questions.jsonl", writeQuestions(asked.answerable)),
    unanswerable: without
      ? textFile("unanswerable.jsonl", writeQuestions(asked.unanswerable))
      : null,
  };
}

function textFile(name: string, text: string): File {
  return new File([text], name, { type: "application/jsonl" });
}
