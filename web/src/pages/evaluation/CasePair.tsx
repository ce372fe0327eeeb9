import { useEffect, useRef } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { Skeleton } from "../../components/Progress";
import { duration, percent, t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { linkTo, workspace } from "../../state/location";
import { type Case, type Side, writeSide } from "./runs";

type Measured = Shapes["MeasuredQuestion"];

interface CasePairProps {
  first: Side;
  second: Side;
  question: string;
}

/** One question, and what two retrievers came to, side by side. */
export function CasePair({ first, second, question }: CasePairProps) {
  const words = t.value.evaluation;
  const wanted = [workspace.value, writeSide(first), writeSide(second), question].join("\n");
  const loaded = useLoaded(wanted, (signal) => loadBoth(first, second, question, signal));
  const box = useRef<HTMLElement>(null);
  const isThere = loaded.data !== null;
  useEffect(() => {
    if (isThere) box.current?.scrollIntoView({ block: "nearest" });
  }, [isThere]);
  if (loaded.error) return <ErrorState error={loaded.error} retry={loaded.reload} />;
  if (!loaded.data) return <Skeleton label={t.value.common.loading} />;
  const [one, other] = loaded.data;
  const asked = one ?? other;
  if (!asked) return <p class="muted">{words.gone}</p>;
  return (
    <section ref={box} class="case-pair" aria-labelledby="case-title">
      <h3 id="case-title" class="break">
        {asked.question}
      </h3>
      <Wanted asked={asked} />
      <div class="pair">
        <Result kind="a" label={words.first} side={first} found={one} />
        <Result kind="b" label={words.second} side={second} found={other} />
      </div>
    </section>
  );
}

async function loadBoth(
  first: Side,
  second: Side,
  question: string,
  signal: AbortSignal,
): Promise<[Case | null, Case | null]> {
  const one = loadCase(first.run, question, signal);
  const other = first.run === second.run ? one : loadCase(second.run, question, signal);
  return Promise.all([one, other]);
}

async function loadCase(run: string, question: string, signal: AbortSignal): Promise<Case | null> {
  const params = {
    path: { workspace: workspace.value, evaluation: run },
    query: { question, limit: 1 },
  };
  const details = await take(
    api.GET("/api/v1/workspaces/{workspace}/evaluations/{evaluation}", { params, signal }),
  );
  return details.cases[0] ?? null;
}

function Wanted({ asked }: { asked: Case }) {
  const words = t.value.evaluation;
  return (
    <dl class="wanted small">
      {asked.answers.length > 0 && (
        <div>
          <dt class="muted">{words.knownAnswers}</dt>
          <dd class="break">{asked.answers.join(" · ")}</dd>
        </div>
      )}
      {asked.gold.length > 0 && (
        <div>
          <dt class="muted">{words.gold}</dt>
          <dd class="break">
            {asked.gold.map((group) => group.map(shortName).join(" / ")).join(" · ")}
          </dd>
        </div>
      )}
      {!asked.is_answerable && (
        <div>
          <dt class="muted">{words.knownAnswers}</dt>
          <dd>{words.noAnswerKnown}</dd>
        </div>
      )}
    </dl>
  );
}

interface ResultProps {
  kind: "a" | "b";
  label: string;
  side: Side;
  found: Case | null;
}

function Result({ kind, label, side, found }: ResultProps) {
  const words = t.value.evaluation;
  const measured = found?.results.find(({ retriever }) => retriever === side.retriever);
  return (
    <section class="pair-side" aria-label={`${label}: ${side.retriever}`}>
      <header class="row between">
        <span class={`side ${kind}`}>{side.retriever}</span>
        {measured && <span class="small faint">{duration(measured.seconds)}</span>}
      </header>
      {!measured && <p class="muted">{words.notAsked}</p>}
      {measured?.answer && <Answer answer={measured.answer} />}
      {measured && <Ranked measured={measured} />}
    </section>
  );
}

function Answer({ answer }: { answer: NonNullable<Measured["answer"]> }) {
  const words = t.value.evaluation;
  return (
    <div class="stack tight">
      <h4>{answer.answered ? words.answer : words.notAnswered}</h4>
      {answer.short && (
        <p class="break">
          <strong>{answer.short}</strong>
        </p>
      )}
      <p class="break">{answer.answered ? answer.answer : answer.reason || answer.answer}</p>
      {answer.answered && answer.citations.length > 0 && (
        <ol class="pair-sources small">
          {answer.citations.map((citation) => (
            <li key={citation.number}>
              <span class="number">[{citation.number}]</span>{" "}
              <a
                class="break"
                href={linkTo("documents", {
                  doc: citation.document_id,
                  chunk: citation.chunk_id,
                  start: citation.span[0],
                  end: citation.span[1],
                })}
              >
                {citation.title || shortName(citation.document)}
              </a>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function Ranked({ measured }: { measured: Measured }) {
  const words = t.value.evaluation;
  return (
    <div class="stack tight">
      <h4>{words.found}</h4>
      {measured.hits.length === 0 && <p class="muted">{words.nothingFound}</p>}
      <ol class="ranked small">
        {measured.hits.map((hit) => (
          <li key={hit.rank} class={hit.is_gold ? "gold" : ""}>
            <span class="number faint">{hit.rank}</span>
            <a
              class="grow break"
              href={linkTo("documents", { doc: hit.document_id, chunk: hit.chunk_id })}
            >
              {shortName(hit.document)}
            </a>
            {hit.is_gold && (
              <span class="tag good">
                <Icon name="check" size={12} />
                {words.isGold}
              </span>
            )}
          </li>
        ))}
      </ol>
      <p class="small faint">
        {measured.gold_rank === null ? words.noGold : words.goldAt(measured.gold_rank)}
        {" · "}
        {words.confidence(percent(measured.confidence))}
      </p>
    </div>
  );
}

/** Return the end of the name of a document, which distinguishes it from others. */
function shortName(uri: string): string {
  return uri.split("/").slice(-2).join("/") || uri;
}
