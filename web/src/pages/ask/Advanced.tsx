import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Check } from "../../components/Fields";
import { optionsOf, Select } from "../../components/Select";
import { Table } from "../../components/Table";
import { t } from "../../i18n";
import { say } from "../../i18n/say";
import { useWays } from "../../state/ways";
import type { Choice } from "./address";
import { AGENTS, sayRetriever, USUAL } from "./words";

const MOST_COMPARED = 3;

interface AdvancedProps {
  choice: Choice;
  hasModel: boolean;
  onChange: (change: Partial<Choice>) => void;
  onClose: () => void;
}

/** All ways to search and to answer, each with what it does, and the comparison of two or three. */
export function Advanced({ choice, hasModel, onChange, onClose }: AdvancedProps) {
  const words = t.value.ask;
  const ways = useWays().data;
  const { retriever, mode, usesModel, compared } = choice;
  const known = (ways?.retrievers ?? []).filter((way) => hasModel || !way.needs_model);
  const summaries = new Map(known.map(({ name, summary }) => [name, summary]));
  const compare = (name: string, isWanted: boolean) => {
    const others = compared.filter((each) => each !== name);
    onChange({ compared: isWanted ? [...others, name].slice(-MOST_COMPARED) : others });
  };
  return (
    <Dialog
      title={words.advanced}
      onClose={onClose}
      actions={<Button label={words.done} kind="main" onClick={onClose} />}
    >
      {hasModel && (
        <div class="row wrap small">
          <Select label={words.how.mode} value={mode} onChoose={(mode) => onChange({ mode })}>
            {optionsOf(ways?.modes ?? ["auto"], (name) => words.modes[name] ?? name)}
          </Select>
          <Check
            label={words.useModel}
            isOn={usesModel}
            onChange={(usesModel) => onChange({ usesModel })}
          />
        </div>
      )}
      <Table
        label={words.advanced}
        class="ways"
        items={[...new Set([...USUAL, ...summaries.keys(), ...AGENTS])]}
        keyOf={(name) => name}
        columns={[
          {
            head: words.how.searchBy,
            cell: (name) => (
              <label class="row top">
                <input
                  type="radio"
                  name="retriever"
                  checked={retriever === name}
                  onChange={() => onChange({ retriever: name, compared: [] })}
                />
                <span>
                  {sayRetriever(name)}
                  <br />
                  <span class="small muted">
                    {words.summaries[name] ?? say(summaries.get(name) ?? "")}
                  </span>
                </span>
              </label>
            ),
          },
          {
            head: words.compare,
            cell: (name) =>
              summaries.has(name) && (
                <input
                  type="checkbox"
                  aria-label={words.compareWith(sayRetriever(name))}
                  checked={compared.includes(name)}
                  onChange={(event) => compare(name, event.currentTarget.checked)}
                />
              ),
          },
        ]}
      />
      <p class="small muted">{words.chooseCompared}</p>
    </Dialog>
  );
}
