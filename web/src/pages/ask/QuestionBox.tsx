import { useEffect, useRef, useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { FilterForm, FilterToggle } from "../../components/filters/FilterForm";
import { t } from "../../i18n";
import { workspace } from "../../state/location";
import { keepInTab, recallInTab } from "../../state/preferences";
import { Advanced } from "./Advanced";
import type { Choice } from "./address";
import { focusAnswer } from "./keys";
import { sayRetriever, USUAL } from "./retrievers";

export interface Ways {
  auto: string;
  retrievers: { name: string; summary: string; needs_model: boolean }[];
  modes: string[];
}

interface QuestionBoxProps {
  choice: Choice;
  ways: Ways | null;
  details: Shapes["WorkspaceDetails"] | null;
  /** Whether there are questions before: the next one may refer to them. */
  isFollowUp: boolean;
  isRunning: boolean;
  onAsk: (text: string, choice: Choice) => void;
  onStop: () => void;
}

/** Where a question is written, and how it is to be answered. */
export function QuestionBox(props: QuestionBoxProps) {
  const { choice, ways, details, isFollowUp, isRunning, onAsk, onStop } = props;
  const here = workspace.value;
  const draft = `draft.${here}`;
  const words = t.value.ask;
  const [text, setText] = useState(() => recallInTab(draft));
  // Chosen here, and asked with when the question is sent: a choice alone must cost nothing.
  const [way, setWay] = useState(choice);
  const [filters, setFilters] = useState(choice.filter !== "");
  const [isAdvanced, setAdvanced] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const key = JSON.stringify(choice);
  useEffect(() => setWay(choice), [key]);
  useEffect(() => grow(field.current), [text]);
  const write = (next: string) => {
    setText(next);
    keepInTab(draft, next);
  };
  const isComparing = way.compared.length > 1;
  const send = () => {
    if (!text.trim()) return;
    onAsk(text.trim(), way);
    write("");
  };
  const offered = (USUAL as readonly string[]).includes(way.retriever)
    ? USUAL
    : [...USUAL, way.retriever];
  return (
    <>
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
          placeholder={isFollowUp ? words.placeholderFurther : words.placeholder}
          value={text}
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.isComposing || event.shiftKey) return;
            if (event.key === "Enter") send();
            else if (event.key === "Escape") focusAnswer();
            else return;
            event.preventDefault();
          }}
        />
        {isFollowUp && (
          <button type="button" class="skip-back" onClick={focusAnswer}>
            {words.toAnswer}
          </button>
        )}
        <div class="row wrap question-ways">
          {isComparing ? (
            <Button
              kind="quiet"
              icon="close"
              title={words.stopComparing}
              onClick={() => setWay({ ...way, compared: [] })}
            >
              {way.compared.map(sayRetriever).join(" · ")}
            </Button>
          ) : (
            <label class="row small">
              <span class="muted">{words.how.searchBy}</span>
              <select
                value={way.retriever}
                onChange={(event) => setWay({ ...way, retriever: event.currentTarget.value })}
              >
                {offered.map((name) => (
                  <option key={name} value={name}>
                    {sayRetriever(name)}
                  </option>
                ))}
              </select>
            </label>
          )}
          <FilterToggle filter={way.filter} isOpen={filters} onClick={() => setFilters(!filters)} />
          <Button kind="quiet" icon="more" onClick={() => setAdvanced(true)}>
            {words.advanced}
          </Button>
          <span class="grow" />
          {isRunning ? (
            // Keys: else the pressed button became the one that sends, and asked again.
            <Button key="stop" icon="stop" onClick={onStop}>
              {words.stop}
            </Button>
          ) : (
            <Button key="ask" kind="main" type="submit" icon="send" disabled={!text.trim()}>
              {words.ask}
            </Button>
          )}
        </div>
        {filters && (
          <FilterForm
            workspace={here}
            filter={way.filter}
            onChange={(filter) => setWay((before) => ({ ...before, filter }))}
          />
        )}
      </form>
      {isAdvanced && (
        <Advanced
          choice={way}
          ways={ways}
          hasModel={Boolean(details?.model)}
          onChange={setWay}
          onClose={() => setAdvanced(false)}
        />
      )}
    </>
  );
}

/** Make a field as high as its text, up to a limit. */
function grow(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight + 2, 220)}px`;
}
