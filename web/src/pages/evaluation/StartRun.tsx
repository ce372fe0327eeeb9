import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Pending } from "../../components/ErrorState";
import { Check, Choice, Form } from "../../components/Fields";
import { useFilter } from "../../components/filters/FilterForm";
import { Field, optionsOf } from "../../components/Select";
import { t } from "../../i18n";
import { call } from "../../state/calls";
import { loadJobs } from "../../state/jobs";
import { useWays } from "../../state/ways";
import { noteChange } from "../../state/workspaces";
import { writeLines } from "./questions";
import { nameOf, type Run } from "./runs";

const SOURCE_NAMES = { written: "Enter here", file: "From a file", again: "From a run" } as const;

interface StartRunProps {
  runs: readonly Run[];
  onStarted: (run: Run) => void;
  onClose: () => void;
}

const SOURCES = ["file", "written", "again"] as const;
const QUESTION_FILES = ".jsonl,.ndjson,.json,.txt";
const CHOSEN = ["auto", "hybrid", "bm25"];

/** Asks what a new evaluation is of, and starts it: its fields have the names of the server's. */
export function StartRun({ runs, onStarted, onClose }: StartRunProps) {
  const [source, setSource] = useState<(typeof SOURCES)[number]>("written");
  const [hasAnswers, setAnswers] = useState(false);
  const [usesModel, setUsesModel] = useState(false);
  const [filter, setFilter] = useState("");
  const [toggle, filterForm] = useFilter(filter, setFilter);
  const [hasRetrievers, setRetrievers] = useState(true);
  const start = async (form: HTMLFormElement) => {
    const choices = { filters: filter, answers: hasAnswers, use_llm: usesModel };
    const run = await startRun(new FormData(form), choices);
    await loadJobs();
    noteChange();
    onStarted(run);
  };
  const example = t("Who approves trips abroad? | travel-policy.docx | Travel Office");
  const [question, gold, answer] = example.split("|").map((part) => part.trim());
  return (
    <Dialog title={t("New evaluation")} onClose={onClose}>
      <Form
        class="stack loose"
        onInput={(event) =>
          setRetrievers(new FormData(event.currentTarget).getAll("retrievers").some(Boolean))
        }
        onSend={start}
      >
        <div class="stack">
          <Choice
            legend={t("Questions")}
            options={SOURCES.filter((name) => name !== "again" || runs.length > 0)}
            say={(name) => t(SOURCE_NAMES[name])}
            chosen={source}
            onChange={setSource}
          />
          <Part
            isOn={source === "written"}
            label={t("One per line: question | gold documents | known answers")}
          >
            <textarea name="written" required rows={5} spellcheck={false} placeholder={example} />
          </Part>
          <Part isOn={source === "file"} label={t("A JSON Lines file, one object per line")}>
            <input name="questions" type="file" required accept={QUESTION_FILES} />
            <code class="program-line small">
              {JSON.stringify({ question, gold_pids: [gold], answers: [answer] })}
            </code>
          </Part>
          <Part
            isOn={source === "again"}
            label={t(
              "Run the same questions again, for example after changing documents or settings",
            )}
          >
            <select name="again">
              {optionsOf(
                runs.map(({ id }) => id),
                (id) => tellQuestions(runs.find((run) => run.id === id)),
              )}
            </select>
          </Part>
        </div>
        <Retrievers />
        <div class="stack tight">
          <div class="row">{toggle}</div>
          {filterForm}
        </div>
        <div class="stack tight">
          <Check
            label={t("Also generate and judge answers")}
            isOn={hasAnswers}
            onChange={setAnswers}
          />
          <Part
            isOn={hasAnswers && source !== "again"}
            label={t("File with questions that the documents do not answer (optional)")}
          >
            <input name="unanswerable" type="file" accept={QUESTION_FILES} />
          </Part>
          <Check label={t("Use the language model")} isOn={usesModel} onChange={setUsesModel} />
          <Part isOn={usesModel} label={t("Budget for all questions: tokens or money")}>
            <input name="budget" type="text" maxLength={40} placeholder="200k" />
          </Part>
        </div>
        <Field label={t("Name (optional)")}>
          <input
            name="name"
            type="text"
            maxLength={200}
            placeholder={t("Before the new travel rules")}
          />
        </Field>
        <footer class="row end">
          <Button label={t("Cancel")} kind="quiet" onClick={onClose} />
          <Button
            label={t("Start")}
            kind="main"
            type="submit"
            icon="play"
            disabled={!hasRetrievers}
          />
        </footer>
      </Form>
    </Dialog>
  );
}

interface PartProps {
  /** Whether it is shown, and sent; what was entered stays meanwhile. */
  isOn: boolean;
  label: string;
  children: ComponentChildren;
}

function Part({ isOn, label, children }: PartProps) {
  return (
    <fieldset hidden={!isOn} disabled={!isOn}>
      <Field label={label}>{children}</Field>
    </fieldset>
  );
}

function tellQuestions(run: Run | undefined): string {
  if (!run) return "";
  return `${nameOf(run)} · ${t("{n} {n:question|questions}", { n: run.questions + run.unanswerable })}`;
}

function Retrievers() {
  const loaded = useWays();
  const { auto = "", retrievers = [] } = loaded.data ?? {};
  const ways = [{ name: "auto", summary: auto, needs_model: false }, ...retrievers];
  return (
    <div class="stack">
      <fieldset>
        <legend class="small muted">{t("Retrievers")}</legend>
        <Pending of={loaded} />
        <div class="grid" style={{ "--cell": "150px", gap: "6px" }}>
          {ways.map(({ name, summary, needs_model }) => (
            <label key={name} class="row" title={summary}>
              <input
                name="retrievers"
                type="checkbox"
                value={name}
                defaultChecked={CHOSEN.includes(name)}
              />
              <span class="clip">{name}</span>
              {needs_model && <span class="tag">{t("model")}</span>}
            </label>
          ))}
        </div>
      </fieldset>
      <Field label={t("More retrievers, composed or with options, separated by commas")}>
        <input
          name="retrievers"
          type="text"
          spellcheck={false}
          maxLength={500}
          placeholder="bm25 + graph > diversify"
        />
      </Field>
    </div>
  );
}

/** Send what was entered; return the run that begins. Throws ApiError. */
async function startRun(entered: FormData, choices: object): Promise<Run> {
  const form = new FormData();
  for (const [name, value] of entered) {
    const isFile = value instanceof File;
    if (isFile ? value.size === 0 : !value.trim()) continue;
    if (name === "written" && !isFile)
      form.set("questions", new File([writeLines(value)], "questions.jsonl"));
    else form.append(name, value);
  }
  for (const [name, value] of Object.entries(choices)) form.set(name, String(value));
  return call("post", "/evaluations", { body: form } as never);
}
