/** Answers and threads as Markdown, to take elsewhere. */

import { t } from "../../i18n";
import { factMark } from "./facts";
import { type Answer, type Run, verdictOf } from "./runs";
import { VERDICTS } from "./words";

/** Return an answer with a line for each of its sources. */
export function writeAnswer(answer: Answer): string {
  const sources = answer.citations.map(({ number, title, document, section, page }) => {
    const place = [title, document, section, page && t("page {label}", { label: page })];
    return `[${number}] ${[...new Set(place)].filter(Boolean).join(", ")}`;
  });
  const facts = answer.memory.map((fact) => `[${factMark(fact)}] ${fact.text}`);
  const headline = answer.short ? [`**${answer.short}**`, ""] : [];
  const lines = [...facts, ...sources].map((line) => `- ${line}`);
  return [...headline, answer.answer, ...(lines.length ? ["", ...lines] : [])].join("\n");
}

/** Return a thread as a document: a heading for each question, then its answer and sources. */
export function writeThread(runs: readonly Run[]): string {
  const parts = runs.map((run) => {
    const answer = run.answer.value;
    const lines = [`## ${run.question.text}`];
    const { understood } = run;
    if (understood && understood !== run.question.text)
      lines.push(`_${t("Understood as: {question}", { question: understood })}_`);
    if (answer) lines.push(`_${t(VERDICTS[verdictOf(answer)])}_`, writeAnswer(answer));
    return lines.join("\n\n");
  });
  return `# ${runs[0]?.question.text ?? ""}\n\n${parts.join("\n\n")}\n`;
}
