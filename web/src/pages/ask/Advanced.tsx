import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { t } from "../../i18n";
import { say } from "../../i18n/say";
import type { Choice } from "./address";
import type { Ways } from "./QuestionBox";
import { AGENTS, sayRetriever, USUAL } from "./retrievers";

const MOST_COMPARED = 3;

interface AdvancedProps {
  choice: Choice;
  ways: Ways | null;
  hasModel: boolean;
  onChange: (choice: Choice) => void;
  onClose: () => void;
}

/** All ways to search and to answer, each with what it does, and the comparison of two or three. */
export function Advanced({ choice, ways, hasModel, onChange, onClose }: AdvancedProps) {
  const words = t.value.ask;
  const known = (ways?.retrievers ?? []).filter((way) => hasModel || !way.needs_model);
  const summaries = new Map(known.map(({ name, summary }) => [name, summary]));
  const names = [...new Set([...USUAL, ...summaries.keys(), ...AGENTS])];
  const toggle = (name: string) => {
    const { compared } = choice;
    const next = compared.includes(name)
      ? compared.filter((each) => each !== name)
      : [...compared, name].slice(-MOST_COMPARED);
    onChange({ ...choice, compared: next });
  };
  return (
    <Dialog
      title={words.advanced}
      onClose={onClose}
      actions={
        <Button kind="main" onClick={onClose}>
          {words.done}
        </Button>
      }
    >
      {hasModel && (
        <div class="row wrap">
          <label class="row small">
            <span class="muted">{words.how.mode}</span>
            <select
              value={choice.mode}
              onChange={(event) => onChange({ ...choice, mode: event.currentTarget.value })}
            >
              {(ways?.modes ?? ["auto"]).map((name) => (
                <option key={name} value={name}>
                  {words.modes[name] ?? name}
                </option>
              ))}
            </select>
          </label>
          <label class="row small">
            <input
              type="checkbox"
              checked={choice.usesModel}
              onChange={(event) => onChange({ ...choice, usesModel: event.currentTarget.checked })}
            />
            <span>{words.useModel}</span>
          </label>
        </div>
      )}
      <table class="ways">
        <thead>
          <tr>
            <th scope="col">{words.how.searchBy}</th>
            <th scope="col">{words.compare}</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <td>
                <label class="row top">
                  <input
                    type="radio"
                    name="retriever"
                    checked={choice.retriever === name}
                    onChange={() => onChange({ ...choice, retriever: name, compared: [] })}
                  />
                  <span>
                    {sayRetriever(name)}
                    <span class="way-summary small muted">
                      {words.summaries[name] ?? say(summaries.get(name) ?? "")}
                    </span>
                  </span>
                </label>
              </td>
              <td>
                {summaries.has(name) && (
                  <input
                    type="checkbox"
                    aria-label={words.compareWith(sayRetriever(name))}
                    checked={choice.compared.includes(name)}
                    onChange={() => toggle(name)}
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="small muted">{words.chooseCompared}</p>
    </Dialog>
  );
}
