import { useEffect, useRef, useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { FilterForm, FilterToggle } from "../../components/filters/FilterForm";
import { t } from "../../i18n";
import { workspace } from "../../state/location";
import { AGENT } from "./runs";

export interface Wanted {
  text: string;
  retriever: string;
  mode: string;
  usesModel: boolean;
  /** The question that this one goes on from; empty for none. */
  after: string;
  /** What documents and pages must fulfil, as text; empty for nothing. */
  filter: string;
  /** Two or three to compare; fewer compare none. */
  compared: readonly string[];
}

export interface Ways {
  auto: string;
  retrievers: { name: string; summary: string; needs_model: boolean }[];
  modes: string[];
}

interface QuestionBoxProps {
  wanted: Wanted;
  ways: Ways | null;
  details: Shapes["WorkspaceDetails"] | null;
  isRunning: boolean;
  onAsk: (wanted: Wanted) => void;
  onStop: () => void;
}

const MOST_COMPARED = 3;
const AGENTS = ["iterative", "corrective", "reasoning", "revising"] as const;

/** Where a question is written, and how it is to be answered. */
export function QuestionBox(props: QuestionBoxProps) {
  const { wanted, ways, details, isRunning, onAsk, onStop } = props;
  const words = t.value.ask;
  const [text, setText] = useState(wanted.text);
  const [compares, setCompares] = useState(wanted.compared.length > 1);
  const [compared, setCompared] = useState(wanted.compared);
  // Chosen here, and asked with when the question is sent: a choice alone must cost nothing.
  const [way, setWay] = useState(wanted);
  const field = useRef<HTMLTextAreaElement>(null);
  const chosen = wanted.compared.join(",");
  const [filters, setFilters] = useState(wanted.filter !== "");
  const { retriever, mode, usesModel, after, filter } = wanted;
  useEffect(() => setText(wanted.text), [wanted.text]);
  useEffect(
    () => setWay((before) => ({ ...before, retriever, mode, usesModel, after, filter })),
    [retriever, mode, usesModel, after, filter],
  );
  useEffect(() => {
    setCompares(chosen !== "");
    if (chosen) setCompared(chosen.split(","));
  }, [chosen]);
  useEffect(() => grow(field.current), [text]);
  const hasModel = Boolean(details?.model);
  const isReady = text.trim() !== "" && (!compares || compared.length > 1);
  const send = () => {
    if (!isReady) return;
    onAsk({ ...way, text: text.trim(), compared: compares ? compared : [] });
  };
  const toggle = (name: string) =>
    setCompared((before) =>
      before.includes(name)
        ? before.filter((known) => known !== name)
        : [...before, name].slice(-MOST_COMPARED),
    );
  const known = (ways?.retrievers ?? []).filter((way) => hasModel || !way.needs_model);
  return (
    <form
      class="question-box"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={field}
        id="question"
        rows={1}
        aria-label={words.question}
        placeholder={after ? words.placeholderFurther : words.placeholder}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="row wrap question-ways">
        {!compares && (
          <label class="row small">
            <span class="muted">{words.retriever}</span>
            <select
              value={way.retriever}
              onChange={(event) => setWay({ ...way, retriever: event.currentTarget.value })}
            >
              <option value="">{words.auto(ways?.auto ?? "")}</option>
              {known.map(({ name, summary }) => (
                <option key={name} value={name} title={summary}>
                  {name}
                </option>
              ))}
              {!after && (
                <optgroup label={words.stepByStep}>
                  {AGENTS.map((kind) => (
                    <option key={kind} value={`${AGENT}${kind}`}>
                      {words.agents[kind]}
                    </option>
                  ))}
                </optgroup>
              )}
            </select>
          </label>
        )}
        {hasModel && (
          <label class="row small">
            <span class="muted">{words.mode}</span>
            <select
              value={way.mode || "auto"}
              onChange={(event) => setWay({ ...way, mode: event.currentTarget.value })}
            >
              {(ways?.modes ?? ["auto"]).map((name) => (
                <option key={name} value={name}>
                  {words.modes[name] ?? name}
                </option>
              ))}
            </select>
          </label>
        )}
        {hasModel && (
          <label class="switch small">
            <input
              type="checkbox"
              checked={way.usesModel}
              onChange={(event) => setWay({ ...way, usesModel: event.currentTarget.checked })}
            />
            <span>{words.useModel}</span>
          </label>
        )}
        <Button
          kind="quiet"
          icon="columns"
          pressed={compares}
          onClick={() => setCompares(!compares)}
        >
          {words.compare}
        </Button>
        <FilterToggle filter={way.filter} isOpen={filters} onClick={() => setFilters(!filters)} />
        <span class="grow" />
        {isRunning ? (
          // Keys: else the pressed button became the one that sends, and asked again.
          <Button key="stop" icon="stop" onClick={onStop}>
            {words.stop}
          </Button>
        ) : (
          <Button key="ask" kind="main" type="submit" icon="send" disabled={!isReady}>
            {words.ask}
          </Button>
        )}
      </div>
      {filters && (
        <FilterForm
          workspace={workspace.value}
          filter={way.filter}
          onChange={(filter) => setWay((before) => ({ ...before, filter }))}
        />
      )}
      {compares && (
        <fieldset class="segments compare-choice">
          <legend>{words.chooseCompared}</legend>
          {known.map(({ name, summary }) => (
            <label key={name} title={summary}>
              <input
                type="checkbox"
                checked={compared.includes(name)}
                onChange={() => toggle(name)}
              />
              <span>{name}</span>
            </label>
          ))}
        </fieldset>
      )}
    </form>
  );
}

/** Make a field as high as its text, up to a limit. */
function grow(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight + 2, 220)}px`;
}
