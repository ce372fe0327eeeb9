import { useMemo } from "preact/hooks";
import { Button, IconButton } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { SourcePlace } from "../../components/SourceCard";
import { type Texts, t, textOf } from "../../i18n";
import { say } from "../../i18n/say";
import { copyText } from "../../state/announcements";
import { AnswerText, type Marks } from "./AnswerText";
import { Chip, FactChip } from "./Chip";
import { factMark } from "./facts";
import { type Answer, type Run, type Stage, type Verdict, verdictOf } from "./runs";
import { linkOf } from "./Sources";
import { VERDICTS } from "./words";
import { writeAnswer } from "./writing";

const REASONS: Texts = {
  low_confidence: "No passage answers the question with confidence.",
  no_evidence: "No passage is about the question.",
};

const STAGES: Texts = {
  found: "Found",
  writing: "Writing",
  keywords: "Keywords",
  map: "Reading reports",
};

const MOST_ROWS = 20;
const ICONS = { found: "check", likely: "info", absent: "none" } as const;
const TONES = { found: "good", likely: "warn", absent: "" };

interface AnswerCardProps {
  run: Run;
  /** What it is called for those who do not see it. */
  label: string;
  /** The citation that is open. */
  open: number;
  onOpen: (number: number) => void;
  onAgain: () => void;
}

/** An answer as it comes: what is done, then its text, and how far it can be trusted. */
export function AnswerCard({ run, label, open, onOpen, onAgain }: AnswerCardProps) {
  const answer = run.answer.value;
  const state = run.state.value;
  const isAbsent = answer !== null && !answer.answered;
  const marks = useMemo(() => marksOf(answer, open, onOpen), [answer, open]);
  const text = isAbsent ? "" : (answer?.answer ?? run.text.value);
  return (
    <>
      {state === "running" && <Stages stages={run.stages.value} />}
      <section
        class="answer stack"
        aria-label={label}
        aria-live="polite"
        aria-busy={state === "running"}
        tabIndex={-1}
      >
        {run.withdrawn.value && !answer && <p class="small tag warn">{say(run.withdrawn.value)}</p>}
        {isAbsent && <Absent answer={answer} run={run} />}
        {answer?.answered && <VerdictLine verdict={verdictOf(answer)} />}
        {answer?.answered && answer.short && <p class="short-answer">{answer.short}</p>}
        {text && <AnswerText text={text} isQuoted={answer?.model === ""} marks={marks} />}
        {state === "running" && text && <span class="caret" aria-hidden="true" />}
        {answer?.results.map((result) => (
          <Rows key={result.statement} result={result} />
        ))}
        {state === "stopped" && (
          <p class="small tag">
            {text
              ? t("Stopped: this answer is incomplete.")
              : t("Stopped before an answer was found.")}
          </p>
        )}
        {state === "failed" && <ErrorState error={run.error.value} retry={onAgain} />}
        {run.notes.map((note) => (
          <p key={note} class="row top small muted">
            <Icon name="info" size={14} /> {say(note)}
          </p>
        ))}
        {(answer || state === "stopped") && (
          <div class="row wrap">
            {answer && text && (
              <Button
                label={t("Copy with sources")}
                kind="quiet"
                icon="copy"
                onClick={() => copyText(writeAnswer(answer))}
              />
            )}
            {answer ? (
              <IconButton icon="refresh" label={t("Ask again")} onClick={onAgain} />
            ) : (
              <Button label={t("Ask again")} icon="refresh" onClick={onAgain} />
            )}
          </div>
        )}
      </section>
    </>
  );
}

/** Return what stands for the marks of an answer: its citations, and the facts that it states. */
function marksOf(answer: Answer | null, open: number, onOpen: (number: number) => void): Marks {
  if (!answer) return null;
  const { citations, memory } = answer;
  return new Map([
    ...citations.map((cited) => {
      const { number } = cited;
      const chip = () => (
        <Chip citation={cited} isOpen={open === number} onOpen={() => onOpen(number)} />
      );
      return [String(number), chip] as const;
    }),
    ...memory.map((fact) => [factMark(fact), () => <FactChip fact={fact} />] as const),
  ]);
}

function VerdictLine({ verdict }: { verdict: Verdict }) {
  return (
    <p class={`tag ${TONES[verdict]}`}>
      <Icon name={ICONS[verdict]} size={14} /> {t(VERDICTS[verdict])}
    </p>
  );
}

/** What is being done, one after the other. */
function Stages({ stages }: { stages: readonly Stage[] }) {
  const last = stages.at(-1);
  return (
    <ol class="stages row wrap small muted" aria-live="polite">
      <li class={last ? "state finished" : "state running"}>{t("Searching")}</li>
      {stages.map((stage, index) => (
        <li key={index} class={stage === last ? "state running" : "state finished"}>
          {tellStage(stage)}
        </li>
      ))}
    </ol>
  );
}

function tellStage(stage: Stage): string {
  if (stage.search)
    return t("{search} ({passages} {passages:passage|passages})", {
      search: stage.search,
      passages: stage.passages,
    });
  if (stage.name === "found") {
    const { passages, names } = stage;
    if (names.length === 0) return t("{passages} {passages:passage|passages} found", { passages });
    return t("{passages} {passages:passage|passages}, {names} {names:entity|entities} found", {
      passages,
      names: names.length,
    });
  }
  if (stage.name === "writing") return t("{model} is writing", { model: stage.model });
  const name = textOf(STAGES, stage.name);
  return stage.total
    ? `${name} ${t("{shown} of {total}", { shown: stage.done, total: stage.total })}`
    : name;
}

/** No answer: said in a sentence, with the nearest passage in full. */
function Absent({ answer, run }: { answer: Answer; run: Run }) {
  const nearest = answer.citations[0];
  const hit = run.evidence.value?.hits.find(({ chunk_id }) => chunk_id === nearest?.chunk_id);
  return (
    <>
      {run.isPartial ? (
        <p class="tag warn">{t("Not in the files that were ready")}</p>
      ) : (
        <>
          <VerdictLine verdict="absent" />
          <p>{textOf(REASONS, answer.reason, say(answer.answer))}</p>
        </>
      )}
      {nearest && (
        <section class="quoted stack" aria-label={t("This may be it")}>
          <p class="small muted">{t("This may be it")}</p>
          <a class="name" {...linkOf(hit ?? nearest)}>
            {nearest.title || nearest.document}
          </a>
          <SourcePlace of={nearest} />
          <AnswerText text={hit?.text ?? nearest.quote} isQuoted />
        </section>
      )}
    </>
  );
}

/** The rows that a query found, as a table. */
function Rows({ result: { columns, rows, row_count } }: { result: Answer["results"][number] }) {
  if (rows.length === 0) return null;
  const line = (cells: readonly unknown[]) => `| ${cells.map(writeCell).join(" | ")} |`;
  const head = [line(columns), `|${" --- |".repeat(columns.length)}`];
  const total = row_count ?? rows.length;
  return (
    <>
      <AnswerText text={[...head, ...rows.slice(0, MOST_ROWS).map(line)].join("\n")} />
      {total > MOST_ROWS && (
        <p class="small muted">
          {t("Showing {shown} of {total} rows.", { shown: MOST_ROWS, total })}
        </p>
      )}
    </>
  );
}

/** Return a cell as Markdown in which nothing is a mark. */
function writeCell(cell: unknown): string {
  if (cell === null || cell === undefined) return "–";
  const text = typeof cell === "object" ? JSON.stringify(cell) : String(cell);
  return text.replace(/\s+/g, " ").replace(/[\\`*_[\]<>|~]/g, "\\$&");
}
