import { plainText } from "../../components/plain";
import { t } from "../../i18n";
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
  return (
    <div class="stack loose">
      <div class={`compare of-${runs.length}`}>
        {runs.map((run) => (
          <div key={run.question.retriever} class="stack tight">
            <h2>{run.question.retriever}</h2>
            <AnswerCard
              run={run}
              open={0}
              onOpen={(number) => onCitation(run, number)}
              onAgain={() => onAgain(run)}
            />
          </div>
        ))}
      </div>
      <Aligned runs={runs} onPlace={onPlace} />
      <p class="small muted">{words.compareNote}</p>
    </div>
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
