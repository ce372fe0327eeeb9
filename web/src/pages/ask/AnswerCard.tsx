import { useMemo } from "preact/hooks";
import { Button, IconButton } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { SourcePlace } from "../../components/SourceCard";
import { count, t } from "../../i18n";
import { say } from "../../i18n/say";
import { announce } from "../../state/announcements";
import { progress } from "../../state/jobs";
import { linkTo } from "../../state/location";
import { AnswerText } from "./AnswerText";
import { openPlace } from "./address";
import { type Answer, type Citation, type Run, type Stage, type Verdict, verdictOf } from "./runs";
import { opensBeside } from "./Sources";
import { writeAnswer } from "./writing";

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
export function AnswerCard(props: AnswerCardProps) {
  const { run, label, open, onOpen, onAgain } = props;
  const words = t.value.ask;
  const answer = run.answer.value;
  const state = run.state.value;
  const isAbsent = answer !== null && !answer.answered;
  const citations = useMemo(() => byNumber(isAbsent ? [] : (answer?.citations ?? [])), [answer]);
  const text = isAbsent ? "" : (answer?.answer ?? run.text.value);
  return (
    <>
      {state === "running" && <Stages stages={run.stages.value} />}
      <section
        class="answer"
        aria-label={label}
        aria-live="polite"
        aria-busy={state === "running"}
        tabIndex={-1}
      >
        {run.withdrawn.value && !answer && <p class="small tag warn">{say(run.withdrawn.value)}</p>}
        {isAbsent ? (
          <Absent answer={answer} run={run} />
        ) : (
          answer && <VerdictLine verdict={verdictOf(answer)} />
        )}
        {!isAbsent && answer?.short && <p class="short-answer">{answer.short}</p>}
        {text && (
          <AnswerText
            text={text}
            isQuoted={answer !== null && answer.model === ""}
            citations={citations}
            {...(answer ? { facts: answer.memory } : {})}
            open={open}
            onOpen={onOpen}
            isWhole={answer !== null}
          />
        )}
        {state === "running" && text && <span class="caret" aria-hidden="true" />}
        {answer?.results.map((result) => (
          <Rows key={result.statement} result={result} />
        ))}
        {state === "stopped" && <p class="small tag">{text ? words.stoppedPart : words.stopped}</p>}
        {state === "failed" && <ErrorState error={run.error.value} retry={onAgain} />}
        {run.notes.map((note) => (
          <p key={note} class="small muted note">
            <Icon name="info" size={14} /> {say(note)}
          </p>
        ))}
        {(answer || state === "stopped") && (
          <div class="row wrap answer-actions">
            {answer && text && (
              <Button kind="quiet" icon="copy" onClick={() => copy(answer)}>
                {words.copy}
              </Button>
            )}
            <IconButton icon="refresh" label={words.again} onClick={onAgain} />
          </div>
        )}
      </section>
    </>
  );
}

function byNumber(citations: readonly Citation[]): ReadonlyMap<number, Citation> {
  return new Map(citations.map((citation) => [citation.number, citation]));
}

function VerdictLine({ verdict }: { verdict: Verdict }) {
  return (
    <p class={`tag ${TONES[verdict]}`}>
      <Icon name={ICONS[verdict]} size={14} /> {t.value.ask.verdicts[verdict]}
    </p>
  );
}

/** What is being done, one after the other. */
function Stages({ stages }: { stages: readonly Stage[] }) {
  const words = t.value.ask;
  const last = stages.at(-1);
  return (
    <ol class="stages small" aria-live="polite">
      <li class={last ? "done" : "now"}>{words.searching}</li>
      {stages.map((stage) => (
        <li key={`${stage.name}${stage.at}`} class={stage === last ? "now" : "done"}>
          {tellStage(stage)}
        </li>
      ))}
    </ol>
  );
}

function tellStage(stage: Stage): string {
  const words = t.value.ask;
  if (stage.search) return words.step(stage.search, stage.passages);
  if (stage.name === "found") return words.found(stage.passages, stage.names.length);
  if (stage.name === "writing") return words.writing(stage.model);
  const name = words.stages[stage.name] ?? stage.name;
  return stage.total ? `${name} ${t.value.common.of(count(stage.done), count(stage.total))}` : name;
}

/** No answer: said in a sentence, with the nearest passage in full. */
function Absent({ answer, run }: { answer: Answer; run: Run }) {
  const words = t.value.ask;
  const nearest = answer.citations[0];
  const hits = run.evidence.value?.hits ?? [];
  const hit = hits.find(({ chunk_id }) => chunk_id === nearest?.chunk_id);
  const [start = 0, end = 0] = hit?.span ?? nearest?.span ?? [];
  const place = nearest && { document: nearest.document_id, start, end };
  return (
    <>
      {run.isPartial ? (
        <p class="tag warn">{words.notYet}</p>
      ) : (
        <>
          <VerdictLine verdict="absent" />
          <p>{words.reasons[answer.reason] ?? say(answer.answer)}</p>
        </>
      )}
      {nearest && place && (
        <section class="nearest" aria-label={words.nearest}>
          <p class="small muted">{words.nearest}</p>
          <a
            class="source-title"
            href={linkTo("documents", { doc: place.document, start, end })}
            onClick={(event) => opensBeside(event, () => openPlace(place))}
          >
            {nearest.title || nearest.document}
          </a>
          <SourcePlace title={nearest.title} section={nearest.section} page={nearest.page} />
          <AnswerText text={hit?.text ?? nearest.quote} isQuoted />
        </section>
      )}
    </>
  );
}

/** Say how many of the files that are being read can be asked about. */
export function sayReady(): string {
  const { done = 0, total = 0 } = progress.value ?? {};
  return total > 0 ? t.value.ask.ready(done, total) : t.value.ask.stillReading;
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
        <p class="small muted">{t.value.ask.rowsShown(count(MOST_ROWS), count(total))}</p>
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

/** Put an answer on the clipboard, with its sources. */
async function copy(answer: Answer): Promise<void> {
  await navigator.clipboard.writeText(writeAnswer(answer));
  announce(t.value.common.copied);
}
