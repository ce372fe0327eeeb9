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
  if (!asked) return <p class="muted">{t("Neither run has this question.")}</p>;
  const gold = asked.gold.map((group) => group.map(shortName).join(" / ")).join(" · ");
  const wantedOf = [
    [t("Known answer"), asked.answers.join(" · ")],
    [t("Documents that answer it"), gold],
    [t("Known answer"), asked.is_answerable ? "" : t("The documents contain no answer.")],
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
      <div class="grid">
        <Result kind="a" label={t("First")} side={first} found={cases[0]} />
        <Result kind="b" label={t("Second")} side={second} found={cases[1]} />
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
  const measured = found?.results.find(({ retriever }) => retriever === side.retriever);
  return (
    <section class="card pair-side stack" aria-label={`${label}: ${side.retriever}`}>
      <header class="row between">
        <strong class={`side break ${kind}`}>{side.retriever}</strong>
        {measured && <span class="small faint">{duration(measured.seconds)}</span>}
      </header>
      {!measured && <p class="muted">{t("Not run here.")}</p>}
      {measured?.answer && <Answer answer={measured.answer} />}
      {measured && <Ranked measured={measured} />}
    </section>
  );
}

function Answer({ answer }: { answer: NonNullable<Measured["answer"]> }) {
  const { answered, short, reason, citations } = answer;
  return (
    <div class="stack tight">
      <h4 class="small muted">{answered ? t("Answer") : t("No answer")}</h4>
      {short && <strong class="break">{short}</strong>}
      <p class="break">{answered ? answer.answer : reason || answer.answer}</p>
      <Places
        of={(answered ? citations : []).map((cited) => {
          const [start, end] = cited.span;
          const href = linkTo("documents", { doc: cited.document_id, start, end });
          return {
            mark: `[${cited.number}]`,
            name: cited.title || shortName(cited.document),
            href,
          };
        })}
      />
    </div>
  );
}

function Ranked({ measured: { hits, gold_rank, confidence } }: { measured: Measured }) {
  return (
    <div class="stack tight">
      <h4 class="small muted">{t("Passages found")}</h4>
      {hits.length === 0 && <p class="muted">{t("None.")}</p>}
      <Places
        of={hits.map(({ rank, document, document_id: doc, chunk_id: chunk, is_gold: isGold }) => {
          const href = linkTo("documents", { doc, chunk });
          return { mark: `${rank}`, name: shortName(document), href, isGold };
        })}
      />
      <p class="small faint">
        {gold_rank === null
          ? t("No gold document found")
          : t("First gold document at rank {rank}", { rank: gold_rank })}
        {" · "}
        {t("confidence {share}", { share: percent(confidence) })}
      </p>
    </div>
  );
}

interface PlacesProps {
  of: readonly { mark: string; name: string; href: string; isGold?: boolean }[];
}

function Places({ of }: PlacesProps) {
  return (
    <ol class="stack tight small">
      {of.map(({ mark, name, href, isGold }) => (
        <li key={mark} class={isGold ? "row gold" : "row"}>
          <span class="number faint">{mark}</span>
          <a class="grow break" href={href}>
            {name}
          </a>
          {isGold && (
            <span class="tag good">
              <Icon name="check" size={12} />
              {t("gold")}
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

/** Return the end of the name of a document, which distinguishes it from others. */
function shortName(uri: string): string {
  return uri.split("/").slice(-2).join("/") || uri;
}
