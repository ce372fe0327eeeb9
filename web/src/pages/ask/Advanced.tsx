import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Check } from "../../components/Fields";
import { optionsOf, Select } from "../../components/Select";
import { Table } from "../../components/Table";
import { type Texts, t, textOf } from "../../i18n";
import { say } from "../../i18n/say";
import { useWays } from "../../state/ways";
import type { Choice } from "./address";
import { AGENTS, MODES, sayRetriever, USUAL } from "./words";

const SUMMARIES: Texts = {
  "": "what suits the documents",
  graph: "keywords and meaning, plus named entities and bridges between passages",
  graph_vector: "keywords and meaning, plus passages near the entities of the best ones",
};

const MOST_COMPARED = 3;

interface AdvancedProps {
  choice: Choice;
  hasModel: boolean;
  onChange: (change: Partial<Choice>) => void;
  onClose: () => void;
}

/** All ways to search and to answer, each with what it does, and the comparison of two or three. */
export function Advanced({ choice, hasModel, onChange, onClose }: AdvancedProps) {
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
      title={t("Advanced")}
      onClose={onClose}
      actions={<Button label={t("Done")} kind="main" onClick={onClose} />}
    >
      {hasModel && (
        <div class="row wrap small">
          <Select label={t("Answer mode")} value={mode} onChoose={(mode) => onChange({ mode })}>
            {optionsOf(ways?.modes ?? ["auto"], (name) => textOf(MODES, name))}
          </Select>
          <Check
            label={t("Language model")}
            isOn={usesModel}
            onChange={(usesModel) => onChange({ usesModel })}
          />
        </div>
      )}
      <Table
        label={t("Advanced")}
        items={[...new Set([...USUAL, ...summaries.keys(), ...AGENTS])]}
        keyOf={(name) => name}
        columns={[
          {
            head: t("Search by"),
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
                    {textOf(SUMMARIES, name, say(summaries.get(name) ?? ""))}
                  </span>
                </span>
              </label>
            ),
          },
          {
            head: t("Compare"),
            class: "number",
            cell: (name) =>
              summaries.has(name) && (
                <input
                  type="checkbox"
                  aria-label={t("Compare: {name}", { name: sayRetriever(name) })}
                  checked={compared.includes(name)}
                  onChange={(event) => compare(name, event.currentTarget.checked)}
                />
              ),
          },
        ]}
      />
      <p class="small muted">{t("Select two or three to compare.")}</p>
    </Dialog>
  );
}
