import { useEffect, useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { Form } from "../../components/Fields";
import { t } from "../../i18n";
import { useCall } from "../../state/calls";
import { isReading } from "../../state/jobs";
import { asked } from "../../state/location";
import { AnswerCard } from "./AnswerCard";
import { openCitation } from "./address";
import { How } from "./How";
import { CitedFacts, Heard } from "./Memory";
import { Offers } from "./Offers";
import type { Answer, Run } from "./runs";
import { Sources } from "./Sources";
import type { Thread } from "./threads";
import { sayReady } from "./words";

interface TurnProps {
  thread: Thread;
  run: Run;
  /** Counted from 1. */
  number: number;
  isLast: boolean;
  onAsk: (text: string) => void;
}

/** A question of a thread, its answer, and what that stands on. */
export function TurnView({ thread, run, number, isLast, onAsk }: TurnProps) {
  const { question } = run;
  const answer = run.answer.value;
  const again = (edited = question.edited) => thread.ask({ ...question, edited }, { instead: run });
  const isAsked = Number(asked("turn")) === number;
  const open = isAsked ? Number(asked("cite")) : 0;
  const onOpen = (cite: number) => openCitation(number, cite);
  const isHeardOnly = run.reply.value !== null && !answer;
  // What is read after an answer may change it, too.
  if (isLast && isReading.value) run.isPartial = true;
  return (
    <article class="turn stack">
      <h2 class="turn-question">{question.text}</h2>
      <Understood run={run} isFollowUp={number > 1} onAsk={again} />
      <Heard run={run} />
      {!isHeardOnly && (
        <AnswerCard
          run={run}
          label={number === 1 ? t("Answer") : t("Answer {turn}", { turn: number })}
          open={open}
          onOpen={onOpen}
          onAgain={() => again()}
        />
      )}
      {answer && run.isPartial && <Partial onAgain={() => again()} />}
      <CitedFacts facts={answer?.memory ?? []} />
      <Sources run={run} open={open} onOpen={onOpen} />
      {isLast && answer?.answered && <Related run={run} answer={answer} onAsk={onAsk} />}
      <How run={run} />
    </article>
  );
}

/** Of the citations that questions are found near. */
const MOST_CITED = 20;

interface RelatedProps {
  run: Run;
  answer: Answer;
  onAsk: (text: string) => void;
}

/** Questions that passages near an answer answer: found after it, so that nobody waits for them. */
function Related({ run, answer, onAsk }: RelatedProps) {
  const citations = answer.citations
    .slice(0, MOST_CITED)
    .map(({ chunk_id, span }) => ({ chunk_id, span: span as [number, number] }));
  const body = { question: run.understood || run.question.text, citations, most: 3 };
  const { data } = useCall("post", "/related", citations.length > 0 ? { body } : null);
  return <Offers label={t("Related questions")} questions={data ?? []} onAsk={onAsk} />;
}

interface UnderstoodProps {
  run: Run;
  isFollowUp: boolean;
  onAsk: (edited: string) => void;
}

/** How a follow-up was understood after the turns before it; edited, it is asked in its place. */
function Understood({ run, isFollowUp, onAsk }: UnderstoodProps) {
  const { understood } = run;
  const [draft, setDraft] = useState<string | null>(null);
  const { only, edited } = run.question;
  if (draft !== null)
    return (
      <Form class="row wrap" onSend={() => draft.trim() && onAsk(draft.trim())}>
        <input
          type="text"
          class="grow"
          aria-label={t("Edit the question")}
          value={draft}
          ref={focusField}
          onInput={(event) => setDraft(event.currentTarget.value)}
        />
        <Button label={t("Ask")} type="submit" />
        <Button label={t("Cancel")} kind="quiet" onClick={() => setDraft(null)} />
      </Form>
    );
  const isSame = understood.trim() === run.question.text.trim();
  const isShown = understood && !isSame && (isFollowUp || edited);
  if (!isShown && !only) return null;
  return (
    <p class="row wrap end small muted">
      {isShown && (
        <>
          <span>{t("Understood as: {question}", { question: understood })}</span>
          <Button
            label={t("Edit")}
            kind="quiet"
            title={t("Edit the question")}
            onClick={() => setDraft(understood)}
          />
        </>
      )}
      {only && <span class="tag">{t("from the selected sources")}</span>}
    </p>
  );
}

const focusField = (field: HTMLInputElement | null) => field?.focus();

/** An answer from a part of the files: how many there were, and a way to ask again later. */
function Partial({ onAgain }: { onAgain: () => void }) {
  const [waits, setWaits] = useState(false);
  const reads = isReading.value;
  useEffect(() => {
    if (waits && !reads) onAgain();
  }, [waits, reads]);
  return (
    <p class="row wrap end small muted">
      <span>{reads ? sayReady() : t("More files are ready now.")}</span>
      {waits ? (
        <span class="tag">{t("Will be asked again")}</span>
      ) : (
        <Button
          label={reads ? t("Ask again when all are ready") : t("Ask again")}
          icon="refresh"
          onClick={() => (reads ? setWaits(true) : onAgain())}
        />
      )}
    </p>
  );
}
