import { plainText } from "../../components/plain";
import { TableBox } from "../../components/TableBox";
import { decimal, t } from "../../i18n";
import { linkTo } from "../../state/location";
import { openPlace } from "./address";
import { alignSources } from "./align";
import { sayRetriever } from "./retrievers";
import type { Run } from "./runs";
import { opensBeside } from "./Sources";

/** The passages that runs found: the score in one, or the rank in each, and which are cited. */
export function PassageTable({ runs }: { runs: readonly Run[] }) {
  const words = t.value.ask.how;
  const rows = alignSources(runs.map((run) => run.evidence.value?.hits ?? []));
  if (rows.length === 0) return null;
  const isOne = runs.length === 1;
  const cited = runs.map(
    (run) => new Set((run.answer.value?.citations ?? []).map(({ chunk_id }) => chunk_id)),
  );
  return (
    <TableBox label={isOne ? words.passages : t.value.ask.aligned}>
      <table class="passages">
        <thead>
          <tr>
            <th scope="col">{words.passages}</th>
            {runs.map(({ question }) => (
              <th key={question.retriever} scope="col" class="number">
                {isOne ? words.score : sayRetriever(question.retriever)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ hit, ranks }) => {
            const [start = 0, end = 0] = hit.span;
            const place = { document: hit.document_id, start, end };
            const isShared = !isOne && ranks.every((rank) => rank !== null);
            return (
              <tr key={hit.chunk_id} class={isShared ? "shared" : ""}>
                <td>
                  <a
                    href={linkTo("documents", { doc: hit.document_id, start, end })}
                    onClick={(event) => opensBeside(event, () => openPlace(place))}
                  >
                    {hit.title || hit.document}
                  </a>
                  <p class="small faint cut">{plainText(hit.text)}</p>
                </td>
                {ranks.map((rank, column) => (
                  <td key={runs[column]?.question.retriever} class="number">
                    {rank === null ? "–" : isOne ? decimal(hit.score, 2) : rank}{" "}
                    {cited[column]?.has(hit.chunk_id) && (
                      <span class="tag accent">{words.cited}</span>
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </TableBox>
  );
}
