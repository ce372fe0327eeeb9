/** Answers as Markdown, to take elsewhere. */

import { t } from "../../i18n";
import { factMark } from "./facts";
import type { Answer } from "./runs";

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
