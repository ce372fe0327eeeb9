import { count, decimal, duration, percent, t } from "../../i18n";
import { linkTo } from "../../state/location";
import type { Run, Stage } from "./runs";

/** Why this answer: what was found and how it was weighed, what it took, what was said meanwhile. */
export function Why({ run }: { run: Run }) {
  const words = t.value.ask.why;
  const answer = run.answer.value;
  const evidence = run.evidence.value;
  const cited = new Set((answer?.citations ?? []).map(({ chunk_id }) => chunk_id));
  const hits = evidence?.hits ?? [];
  const parts = [...new Set(hits.flatMap(({ scores }) => Object.keys(scores)))];
  return (
    <section class="card stack why" aria-labelledby="why-title">
      <h2 id="why-title">{words.title}</h2>
      {answer && (
        <dl class="figures">
          <Figure name={words.retriever} value={answer.retriever} />
          <Figure name={words.mode} value={t.value.ask.modes[answer.mode] ?? answer.mode} />
          <Figure name={words.model} value={answer.model || t.value.ask.quoted} />
          {answer.confidence !== null && answer.strength !== null && (
            <Figure
              name={words.confidence}
              value={`${percent(answer.confidence)}, ${t.value.ask.strengths[answer.strength]}`}
            />
          )}
          {evidence?.filter && <Figure name={words.filter} value={evidence.filter} />}
          <Figure name={words.time} value={duration(answer.usage.seconds)} />
          <Figure name={words.calls} value={count(answer.usage.model_calls)} />
          <Figure
            name={words.tokens}
            value={`${count(answer.usage.input_tokens)} + ${count(answer.usage.output_tokens)}`}
          />
          {answer.usage.money && <Figure name={words.money} value={answer.usage.money} />}
        </dl>
      )}
      <Times stages={run.stages.value} />
      {hits.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
        <section class="table-box" tabIndex={0} aria-label={words.weighed}>
          <table>
            <thead>
              <tr>
                <th scope="col" class="number">
                  #
                </th>
                <th scope="col">{words.passage}</th>
                <th scope="col" class="number">
                  {words.score}
                </th>
                {parts.map((part) => (
                  <th key={part} scope="col" class="number">
                    {words.parts[part] ?? part}
                  </th>
                ))}
                <th scope="col">{words.names}</th>
              </tr>
            </thead>
            <tbody>
              {hits.map((hit) => (
                <tr key={hit.chunk_id}>
                  <td class="number">{hit.rank}</td>
                  <td class="why-passage">
                    <a
                      href={linkTo("documents", {
                        doc: hit.document_id,
                        start: hit.span[0],
                        end: hit.span[1],
                      })}
                    >
                      {hit.title || hit.document}
                    </a>{" "}
                    {cited.has(hit.chunk_id) && <span class="tag accent">{words.cited}</span>}
                  </td>
                  <td class="number">{decimal(hit.score, 3)}</td>
                  {parts.map((part) => (
                    <td key={part} class="number">
                      <Part value={hit.scores[part]} />
                    </td>
                  ))}
                  <td class="small">{hit.seeds.join(", ")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      <Lines title={words.trace} lines={evidence?.trace ?? []} />
      <Lines title={words.notes} lines={[...(evidence?.notes ?? []), ...(answer?.notes ?? [])]} />
      {evidence?.results.map((result) => (
        <div key={result.statement} class="stack tight">
          <h3>{result.language}</h3>
          <pre class="statement">{result.statement}</pre>
          <p class="small muted">{words.rows(result.rows.length)}</p>
        </div>
      ))}
    </section>
  );
}

function Part({ value }: { value: number | undefined }) {
  if (value === undefined) return <span class="faint">–</span>;
  return <span class={value === 0 ? "faint" : ""}>{decimal(value, 3)}</span>;
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{value}</dd>
    </div>
  );
}

/** When each stage began, after the question was sent. */
function Times({ stages }: { stages: readonly Stage[] }) {
  if (stages.length === 0) return null;
  const words = t.value.ask;
  return (
    <ul class="row wrap small muted number">
      {stages.map((stage) => (
        <li key={`${stage.name}${stage.at}`} class="tag break">
          {stage.search || words.stages[stage.name] || stage.name} {duration(stage.at / 1000)}
        </li>
      ))}
    </ul>
  );
}

function Lines({ title, lines }: { title: string; lines: readonly string[] }) {
  const shown = [...new Set(lines)];
  if (shown.length === 0) return null;
  return (
    <div class="stack tight">
      <h3>{title}</h3>
      <ul class="small muted lines">
        {shown.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}
