import { useEffect, useRef } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { Pending } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { duration, percent, t } from "../../i18n";
import { useCall } from "../../state/calls";
import { linkTo } from "../../state/location";
import type { Side } from "./runs";

type Case = Shapes["CaseShape"];
type Measured = Shapes["MeasuredQuestion"];

const RUN = "/evaluations/{evaluation}";

interface CasePairProps {
  first: Side;
  second: Side;
  question: string;
}

/** One question, and what two retrievers came to, side by side. */
export function CasePair({ first, second, question }: CasePairProps) {
  const words = t.value.evaluation;
  const query = { question, limit: 1 };
  const one = useCall("get", RUN, { evaluation: first.run, query });
  const isSame = first.run === second.run;
  const next = useCall("get", RUN, isSame ? null : { evaluation: second.run, query });
  const other = isSame ? one : next;
  const box = useRef<HTMLElement>(null);
  const isThere = one.data !== null && other.data !== null;
  useEffect(() => {
    if (isThere) box.current?.scrollIntoView({ block: "nearest" });
  }, [isThere]);
  if (!isThere) return <Pending of={one.data ? other : one} />;
  const cases = [one, other].map(({ data }) => data?.cases[0]);
  const asked = cases.find(Boolean);
  if (!asked) return <p class="muted">{words.gone}</p>;
  const gold = asked.gold.map((group) => group.map(shortName).join(" / ")).join(" · ");
  const wantedOf = [
    [words.knownAnswers, asked.answers.join(" · ")],
    [words.gold, gold],
    [words.knownAnswers, asked.is_answerable ? "" : words.noAnswerKnown],
  ];
  return (
    <section ref={box} class="case-pair stack" aria-labelledby="case-title">
      <h3 id="case-title" class="break">
        {asked.question}
      </h3>
      <dl class="stack tight small">
        {wantedOf
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div key={value} class="row wrap">
              <dt class="muted">{name}</dt>
              <dd class="break">{value}</dd>
            </div>
          ))}
      </dl>
      <div class="pair">
        <Result kind="a" label={words.first} side={first} found={cases[0]} />
        <Result kind="b" label={words.second} side={second} found={cases[1]} />
      </div>
    </section>
  );
}

interface ResultProps {
  kind: "a" | "b";
  label: string;
  side: Side;
  found: Case | undefined;
}

function Result({ kind, label, side, found }: ResultProps) {
  const words = t.value.evaluation;
  const measured = found?.results.find(({ retriever }) => retriever === side.retriever);
  return (
    <section class="card pair-side stack" aria-label={`${label}: ${side.retriever}`}>
      <header class="row between">
        <strong class={`side break ${kind}`}>{side.retriever}</strong>
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
  const { answered, short, reason, citations } = answer;
  return (
    <div class="stack tight">
      <h4 class="small muted">{answered ? words.answer : words.notAnswered}</h4>
      {short && <strong class="break">{short}</strong>}
      <p class="break">{answered ? answer.answer : reason || answer.answer}</p>
      <ol class="ranked stack tight small">
        {(answered ? citations : []).map(
          ({ number, title, document, document_id: doc, span: [start, end] }) => (
            <li key={number} class="row">
              <span class="number">[{number}]</span>
              <a class="break" href={linkTo("documents", { doc, start, end })}>
                {title || shortName(document)}
              </a>
            </li>
          ),
        )}
      </ol>
    </div>
  );
}

function Ranked({ measured: { hits, gold_rank, confidence } }: { measured: Measured }) {
  const words = t.value.evaluation;
  return (
    <div class="stack tight">
      <h4 class="small muted">{words.found}</h4>
      {hits.length === 0 && <p class="muted">{words.nothingFound}</p>}
      <ol class="ranked stack tight small">
        {hits.map(({ rank, document, document_id: doc, chunk_id: chunk, is_gold }) => (
          <li key={rank} class={is_gold ? "row gold" : "row"}>
            <span class="number faint">{rank}</span>
            <a class="grow break" href={linkTo("documents", { doc, chunk })}>
              {shortName(document)}
            </a>
            {is_gold && (
              <span class="tag good">
                <Icon name="check" size={12} />
                {words.isGold}
              </span>
            )}
          </li>
        ))}
      </ol>
      <p class="small faint">
        {gold_rank === null ? words.noGold : words.goldAt(gold_rank)}
        {" · "}
        {words.confidence(percent(confidence))}
      </p>
    </div>
  );
}

/** Return the end of the name of a document, which distinguishes it from others. */
function shortName(uri: string): string {
  return uri.split("/").slice(-2).join("/") || uri;
}
