import { useEffect, useRef, useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { Form } from "../../components/Fields";
import { useFilter } from "../../components/filters/FilterForm";
import { useMeasured } from "../../components/measure";
import { optionsOf, Select } from "../../components/Select";
import { t } from "../../i18n";
import { workspace } from "../../state/location";
import { keepInTab, recallInTab } from "../../state/preferences";
import { Advanced } from "./Advanced";
import type { Choice } from "./address";
import { focusAnswer } from "./keys";
import { sayRetriever, USUAL } from "./words";

interface QuestionBoxProps {
  choice: Choice;
  details: Shapes["WorkspaceDetails"] | null;
  /** Whether there are questions before: the next one may refer to them. */
  isFollowUp: boolean;
  isRunning: boolean;
  onAsk: (text: string, choice: Choice) => void;
  onStop: () => void;
}

/** Where a question is written, and how it is to be answered. */
export function QuestionBox(props: QuestionBoxProps) {
  const { choice, details, isFollowUp, isRunning, onAsk, onStop } = props;
  const draft = `draft.${workspace.value}`;
  const [text, setText] = useState(() => recallInTab(draft));
  // Chosen here, and asked with when the question is sent: a choice alone must cost nothing.
  const [way, setWay] = useState(choice);
  const [isAdvanced, setAdvanced] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setWay(choice), [JSON.stringify(choice)]);
  const width = useMeasured(field, 0, ({ clientWidth }) => clientWidth);
  useEffect(() => grow(field.current), [text, width]);
  const write = (next: string) => {
    setText(next);
    keepInTab(draft, next);
  };
  const change = (part: Partial<Choice>) => setWay((before) => ({ ...before, ...part }));
  const [toggle, filterForm] = useFilter(way.filter, (filter) => change({ filter }));
  const send = () => {
    if (!text.trim()) return;
    onAsk(text.trim(), way);
    write("");
  };
  return (
    <>
      <Form class="card question-box" onSend={send}>
        <textarea
          ref={field}
          id="question"
          rows={1}
          aria-label={t("Your question")}
          placeholder={isFollowUp ? t("Ask a follow-up") : t("Ask your documents")}
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
          <button type="button" class="only-spoken" onClick={focusAnswer}>
            {t("To the answer (Esc)")}
          </button>
        )}
        <div class="row wrap question-ways">
          {way.compared.length > 1 ? (
            <Button
              label={way.compared.map(sayRetriever).join(" · ")}
              kind="quiet"
              icon="close"
              title={t("Stop comparing")}
              onClick={() => change({ compared: [] })}
            />
          ) : (
            <Select
              label={t("Search by")}
              value={way.retriever}
              onChoose={(retriever) => change({ retriever })}
            >
              {optionsOf([...new Set([...USUAL, way.retriever])], sayRetriever)}
            </Select>
          )}
          {toggle}
          <Button
            label={t("Advanced")}
            kind="quiet"
            icon="more"
            onClick={() => setAdvanced(true)}
          />
          <span class="grow" />
          {isRunning ? (
            // Keys: else the pressed button became the one that sends, and asked again.
            <Button label={t("Stop")} key="stop" icon="stop" onClick={onStop} />
          ) : (
            <Button
              label={t("Ask")}
              key="ask"
              kind="main"
              type="submit"
              icon="send"
              disabled={!text.trim()}
            />
          )}
        </div>
        {filterForm}
      </Form>
      {isAdvanced && (
        <Advanced
          choice={way}
          hasModel={Boolean(details?.model)}
          onChange={change}
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
