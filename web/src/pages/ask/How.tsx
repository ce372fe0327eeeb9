import { useMemo, useState } from "preact/hooks";
import { SmallGraph } from "../../components/graph/SmallGraph";
import { TextCode } from "../../components/prose";
import { Facts } from "../../components/Section";
import { duration, moment, percent, t, textOf } from "../../i18n";
import { go, linkTo } from "../../state/location";
import { sayRelation } from "../graph/words";
import { openPlace } from "./address";
import { PassageTable } from "./PassageTable";
import { findPath } from "./path";
import type { Answer, Evidence, Run } from "./runs";
import { MODES, sayRetriever } from "./words";

/** One line on how an answer was made; opened, how its passages were found. */
export function How({ run }: { run: Run }) {
  const [isOpen, setOpen] = useState(false);
  const answer = run.answer.value;
  if (!answer) return null;
  return (
    <details class="how small" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="muted">
        <span class="nowrap">{t("How it was found")}</span> &emsp;{" "}
        <span class="faint">{sayCost(answer, run)}</span>
      </summary>
      {isOpen && <Found answer={answer} run={run} />}
    </details>
  );
}

/** Return what an answer took, and what was checked, in a line. */
function sayCost(answer: Answer, run: Run): string {
  const { usage } = answer;
  const tokens = usage.input_tokens + usage.output_tokens;
  const parts = [
    answer.model || t("quoted, no model"),
    tokens > 0 ? t("{n} tokens", { n: tokens }) : duration(usage.seconds),
    usage.money && Number(usage.money) > 0 ? `${usage.money} USD` : "",
    run.removed > 0 ? t("{n} {n:sentence|sentences} removed", { n: run.removed }) : "",
    run.stages.value.length === 0 ? moment(run.at) : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

function Found({ answer, run }: { answer: Answer; run: Run }) {
  const evidence = run.evidence.value;
  const steps = [...new Set(evidence?.trace ?? [])];
  return (
    <div class="stack">
      <Facts
        of={[
          [t("Search by"), sayRetriever(answer.retriever)],
          [t("Answer mode"), answer.model ? textOf(MODES, answer.mode) : ""],
          [t("Confidence"), answer.confidence === null ? "" : percent(answer.confidence)],
          [t("Filter"), evidence?.filter ?? ""],
          [t("Time"), duration(answer.usage.seconds)],
        ]}
      />
      {evidence && <Path answer={answer} evidence={evidence} />}
      <PassageTable runs={[run]} />
      {steps.length > 0 && (
        <ul class="lines muted" aria-label={t("Steps")}>
          {steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ul>
      )}
      {answer.results.map((result) => (
        <figure key={result.statement} class="stack tight">
          <figcaption>
            {t("Query on {place}", { place: result.place || result.language })}
          </figcaption>
          <TextCode>{result.statement}</TextCode>
          {Object.keys(result.parameters).length > 0 && (
            <TextCode>{JSON.stringify(result.parameters)}</TextCode>
          )}
        </figure>
      ))}
    </div>
  );
}

interface PathProps {
  answer: Answer;
  evidence: Evidence;
}

/** The hops that lead to the cited passages: drawn, and those with words as lines. */
function Path({ answer, evidence }: PathProps) {
  const { nodes, edges } = useMemo(() => findPath(answer, evidence), [answer, evidence]);
  if (edges.length === 0) return null;
  const nodeOf = (id: string) => nodes.find((each) => each.id === id);
  const open = (id: string) => {
    const node = nodeOf(id);
    if (node?.place) openPlace(node.place);
    else go(linkTo("graph", { focus: id }));
  };
  return (
    <>
      <SmallGraph
        nodes={nodes.map((node) => {
          const isName = node.kind === "name";
          return { ...node, isStart: isName, isFixed: isName };
        })}
        edges={edges.map((edge) => ({ ...edge, label: sayRelation(edge.label) }))}
        ariaLabel={t("Hops that lead to the cited passages")}
        onNode={open}
      />
      <ol class="lines">
        {edges.map(
          ({ id, source, target, label, sentence, place }) =>
            place && (
              <li key={id}>
                {nodeOf(source)?.label} →{" "}
                <button type="button" class="link-button" onClick={() => openPlace(place)}>
                  {sentence ? `“${sentence}”` : sayRelation(label)}
                </button>{" "}
                → {nodeOf(target)?.label}
              </li>
            ),
        )}
      </ol>
    </>
  );
}
