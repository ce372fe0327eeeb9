import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Button, IconButton } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { count, duration, moment, percent, t } from "../../i18n";
import { announce } from "../../state/announcements";
import { go, linkTo } from "../../state/location";
import { AnswerText } from "./AnswerText";
import { factMark } from "./facts";
import { queryOf } from "./HistoryPanel";
import type { Answer, Citation, Run, Stage } from "./runs";

const NO_FACTS: Answer["memory"] = [];

interface AnswerCardProps {
  run: Run;
  open: number;
  onOpen: (number: number) => void;
  onAgain: () => void;
  /** Goes on from this answer, where that is possible. */
  onFurther?: () => void;
  children?: ComponentChildren;
}

/** An answer as it comes: what is done, then its text, then what it rests on. */
export function AnswerCard(props: AnswerCardProps) {
  const { run, open, onOpen, onAgain, onFurther, children } = props;
  const words = t.value.ask;
  const answer = run.answer.value;
  const state = run.state.value;
  const citations = useMemo(() => byNumber(answer?.answered ? answer.citations : []), [answer]);
  const text = answer?.answer ?? run.text.value;
  if (answer && !answer.answered) {
    return (
      <Unknown answer={answer} run={run} onAgain={onAgain}>
        {children}
      </Unknown>
    );
  }
  return (
    <section class="card answer" aria-label={nameOf(run)} aria-busy={state === "running"}>
      {state === "running" && <Stages stages={run.stages.value} />}
      {run.withdrawn.value && !answer && <p class="small tag warn">{run.withdrawn.value}</p>}
      {answer?.short && <p class="short-answer">{answer.short}</p>}
      {text && (
        <AnswerText
          text={text}
          isQuoted={answer !== null && answer.model === ""}
          citations={citations}
          facts={answer?.memory ?? NO_FACTS}
          open={open}
          onOpen={onOpen}
          isWhole={answer !== null}
        />
      )}
      {state === "running" && text && <span class="caret" aria-hidden="true" />}
      {state === "stopped" && <p class="small tag">{text ? words.stoppedPart : words.stopped}</p>}
      {state === "failed" && <ErrorState error={run.error.value} retry={onAgain} />}
      {answer?.results.map((result) => (
        <details key={result.statement} class="small muted">
          <summary>{words.query(result.place || result.language)}</summary>
          <pre class="statement">{result.statement}</pre>
          {Object.keys(result.parameters).length > 0 && (
            <pre class="statement">{JSON.stringify(result.parameters)}</pre>
          )}
        </details>
      ))}
      {answer?.notes.map((note) => (
        <p key={note} class="small muted note">
          <Icon name="info" size={14} /> {note}
        </p>
      ))}
      {(answer || state === "stopped") && (
        <footer class="row between wrap">
          <span class="small faint">{answer ? describe(answer, run) : ""}</span>
          <span class="row wrap">
            {text && (
              <IconButton
                icon="copy"
                label={t.value.common.copy}
                onClick={() => copy(text, answer)}
              />
            )}
            <IconButton icon="refresh" label={words.again} onClick={onAgain} />
            {answer && onFurther && (
              <Button kind="quiet" icon="further" onClick={onFurther}>
                {words.further}
              </Button>
            )}
            {children}
          </span>
        </footer>
      )}
    </section>
  );
}

/** Return what an answer is called: of several side by side each has its own name. */
function nameOf({ question }: Run): string {
  return [t.value.ask.answer, question.retriever].filter(Boolean).join(": ");
}

function byNumber(citations: readonly Citation[]): ReadonlyMap<number, Citation> {
  return new Map(citations.map((citation) => [citation.number, citation]));
}

/** Return the confidence of an answer in figures and in a word; "" for one that has none. */
function nameSureness({ confidence, strength }: Answer): string {
  const words = t.value.ask;
  if (confidence === null || strength === null) return "";
  return `${words.sure(percent(confidence))} (${words.strengths[strength]})`;
}

/** Say how an answer was made, in a line. */
function describe(answer: Answer, run: Run): string {
  const words = t.value.ask;
  const { usage } = answer;
  const tokens = usage.input_tokens + usage.output_tokens;
  const parts = [
    nameSureness(answer),
    answer.retriever,
    answer.model || words.quoted,
    duration(usage.seconds),
    tokens > 0 ? words.tokens(count(tokens)) : "",
    usage.money && Number(usage.money) > 0 ? words.cost(usage.money) : "",
    run.stages.peek().length === 0 ? moment(run.at) : "",
  ];
  return parts.filter(Boolean).join(" · ");
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

interface UnknownProps {
  answer: Answer;
  run: Run;
  onAgain: () => void;
  children?: ComponentChildren;
}

/** No answer: said plainly, with why, and what can be done. The nearest passages follow. */
function Unknown({ answer, run, onAgain, children }: UnknownProps) {
  const words = t.value.ask;
  return (
    <section class="card answer unknown" aria-label={nameOf(run)}>
      <div class="row top">
        <span class="empty-icon">
          <Icon name="none" size={20} />
        </span>
        <div class="grow stack tight">
          <h2>{words.unknown}</h2>
          <p class="unknown-text">{answer.answer}</p>
          <p class="small muted">{words.reasons[answer.reason] ?? answer.reason}</p>
          {answer.notes.map((note) => (
            <p key={note} class="small muted">
              {note}
            </p>
          ))}
          <ul class="hints small">
            {(answer.citations.length > 0 ? [words.seeNearest, ...words.hints] : words.hints).map(
              (hint) => (
                <li key={hint}>{hint}</li>
              ),
            )}
          </ul>
        </div>
      </div>
      <footer class="row between wrap">
        <span class="small faint">{describe(answer, run)}</span>
        <span class="row wrap">
          <Button icon="columns" onClick={() => compareWays(run)}>
            {words.compareWays}
          </Button>
          <IconButton icon="refresh" label={words.again} onClick={onAgain} />
          {children}
        </span>
      </footer>
    </section>
  );
}

/** Ask the same of ways that reach differently far. */
function compareWays({ question }: Run): void {
  go(linkTo("ask", { ...queryOf(question), r: "", vs: "hybrid,graph,pagerank" }));
}

/** Put an answer on the clipboard, with its sources. */
async function copy(text: string, answer: Answer | null): Promise<void> {
  const sources = (answer?.citations ?? []).map(
    ({ number, document, section, page }) =>
      `[${number}] ${[document, section, page && t.value.source.page(page)].filter(Boolean).join(", ")}`,
  );
  const facts = (answer?.memory ?? []).map((fact) => `[${factMark(fact)}] ${fact.text}`);
  await navigator.clipboard.writeText([text, ...facts, ...sources].join("\n"));
  announce(t.value.common.copied);
}
