import { useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { Icon } from "../../components/Icon";
import { plainText } from "../../components/plain";
import { t } from "../../i18n";
import { announce } from "../../state/announcements";
import { linkTo } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { AnswerCard } from "./AnswerCard";
import { alignSources } from "./align";
import type { Place } from "./path";
import type { Run } from "./runs";

interface CompareProps {
  runs: readonly Run[];
  onCitation: (run: Run, number: number) => void;
  onPlace: (place: Place) => void;
  onAgain: (run: Run) => void;
}

/** Several retrievers on one question: answers beside each other, sources in one table. */
export function Compare({ runs, onCitation, onPlace, onAgain }: CompareProps) {
  const words = t.value.ask;
  const isOver = runs.every((run) => run.state.value === "done");
  const [winner, setWinner] = useState<string | null>(null);
  return (
    <div class="stack loose">
      <div class={`compare of-${runs.length}`}>
        {runs.map((run) => (
          <div key={run.question.retriever} class="stack tight">
            <h2 class="row between">
              <span>{run.question.retriever}</span>
              {winner === run.question.retriever && <Icon name="check" />}
            </h2>
            <AnswerCard
              run={run}
              open={0}
              onOpen={(number) => onCitation(run, number)}
              onAgain={() => onAgain(run)}
            />
          </div>
        ))}
      </div>
      {isOver && mayWrite.value && (
        <Preference key={runs[0]?.question.text} runs={runs} winner={winner} onWinner={setWinner} />
      )}
      <Aligned runs={runs} onPlace={onPlace} />
      <p class="small muted">{words.compareNote}</p>
    </div>
  );
}

interface PreferenceProps {
  runs: readonly Run[];
  winner: string | null;
  onWinner: (winner: string) => void;
}

/** Says which answer was the best; the page Evaluation counts it. */
function Preference({ runs, winner, onWinner }: PreferenceProps) {
  const words = t.value.ask;
  const [isTold, setTold] = useState(false);
  if (isTold) {
    return (
      <p class="row wrap small muted">
        <Icon name="check" /> {words.preferenceKept}{" "}
        <a href={linkTo("evaluation")}>{t.value.pages.evaluation}</a>
      </p>
    );
  }
  const prefer = async (name: string | null) => {
    const question = runs[0]?.question;
    if (!question) return;
    const body = {
      question: question.text,
      retrievers: runs.map((run) => run.question.retriever),
      winner: name,
    };
    const params = { path: { workspace: question.workspace } };
    await take(api.POST("/api/v1/workspaces/{workspace}/preferences", { params, body }));
    setTold(true);
    if (name) onWinner(name);
    announce(words.preferenceKept);
  };
  return (
    <fieldset class="row wrap" aria-label={words.best}>
      <span class="muted">{words.best}</span>
      {runs.map(({ question }) => (
        <Button
          key={question.retriever}
          pressed={winner === question.retriever}
          onClick={() => prefer(question.retriever)}
        >
          {question.retriever}
        </Button>
      ))}
      <Button kind="quiet" onClick={() => prefer(null)}>
        {words.tie}
      </Button>
    </fieldset>
  );
}

function Aligned({ runs, onPlace }: { runs: readonly Run[]; onPlace: (place: Place) => void }) {
  const words = t.value.ask;
  const rows = alignSources(runs.map((run) => run.evidence.value?.hits ?? []));
  if (rows.length === 0) return null;
  const cited = runs.map(
    (run) => new Set((run.answer.value?.citations ?? []).map(({ chunk_id }) => chunk_id)),
  );
  return (
    <div class="card stack">
      <h2>{words.aligned}</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <section class="table-box" tabIndex={0} aria-label={words.aligned}>
        <table class="aligned">
          <thead>
            <tr>
              <th scope="col">{words.why.passage}</th>
              {runs.map(({ question }) => (
                <th key={question.retriever} scope="col" class="number">
                  {question.retriever}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ hit, ranks }) => (
              <tr key={hit.chunk_id} class={ranks.every((rank) => rank !== null) ? "shared" : ""}>
                <td>
                  <button
                    type="button"
                    class="link-button"
                    onClick={() =>
                      onPlace({
                        document: hit.document_id,
                        start: hit.span[0] ?? 0,
                        end: hit.span[1] ?? 0,
                      })
                    }
                  >
                    {hit.title || hit.document}
                  </button>
                  <p class="small faint aligned-text">{plainText(hit.text)}</p>
                </td>
                {ranks.map((rank, column) => (
                  <td key={runs[column]?.question.retriever} class="number">
                    {rank === null ? <span class="faint">–</span> : rank}
                    {cited[column]?.has(hit.chunk_id) && (
                      <>
                        {" "}
                        <span class="tag accent">{words.why.cited}</span>
                      </>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}
