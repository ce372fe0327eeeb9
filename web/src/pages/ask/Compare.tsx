import { useEffect, useState } from "preact/hooks";
import { t } from "../../i18n";
import { AnswerCard } from "./AnswerCard";
import { openPlace, placeOf } from "./address";
import { PassageTable } from "./PassageTable";
import { type Question, Run } from "./runs";
import { sayRetriever } from "./words";

interface CompareProps {
  question: Question;
  retrievers: readonly string[];
}

/** Several retrievers on one question: answers beside each other, passages in one table. */
export function Compare({ question, retrievers }: CompareProps) {
  const key = JSON.stringify([question, retrievers]);
  const [runs, setRuns] = useState<readonly Run[]>([]);
  useEffect(() => {
    const begun = retrievers.map((retriever) => begin({ ...question, retriever }));
    setRuns(begun);
    return () => {
      for (const run of begun) run.stop();
    };
  }, [key]);
  return (
    <div class="stack loose">
      <h2 class="turn-question">{question.text}</h2>
      <div class="grid">
        {runs.map((run, index) => (
          <div key={run.question.retriever} class="stack tight">
            <h3>{sayRetriever(run.question.retriever)}</h3>
            <AnswerCard
              run={run}
              label={t("Answer: {name}", { name: sayRetriever(run.question.retriever) })}
              open={0}
              onOpen={(number) => {
                const cited = run.answer.peek()?.citations.find((each) => each.number === number);
                if (cited) openPlace(placeOf(cited));
              }}
              onAgain={() => setRuns(runs.with(index, begin(run.question)))}
            />
          </div>
        ))}
      </div>
      <PassageTable runs={runs} />
      <p class="small muted">{t("All retrievers found the passages in coloured rows.")}</p>
    </div>
  );
}

function begin(question: Question): Run {
  const run = new Run(question);
  void run.start({ turns: [], isSent: false });
  return run;
}
