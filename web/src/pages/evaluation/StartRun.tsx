import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { ErrorState } from "../../components/ErrorState";
import { FilterForm, FilterToggle } from "../../components/filters/FilterForm";
import { Skeleton } from "../../components/Progress";
import { t } from "../../i18n";
import { loadJobs } from "../../state/jobs";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";
import type { Run } from "./runs";
import { isWhole, NEW_PLAN, type Plan, SOURCES, startRun } from "./starting";

interface StartRunProps {
  runs: readonly Run[];
  onStarted: (run: Run) => void;
  onClose: () => void;
}

type Change = (change: Partial<Plan>) => void;

/** Asks what a new evaluation is of, and starts it. */
export function StartRun({ runs, onStarted, onClose }: StartRunProps) {
  const words = t.value.evaluation;
  const [plan, setPlan] = useState<Plan>({ ...NEW_PLAN, again: runs[0]?.id ?? "" });
  const [error, setError] = useState<unknown>(null);
  const [isStarting, setStarting] = useState(false);
  const change: Change = (part) => {
    setPlan((before) => ({ ...before, ...part }));
    setError(null);
  };
  const start = async () => {
    setStarting(true);
    try {
      const run = await startRun(plan);
      await loadJobs();
      onStarted(run);
    } catch (failure) {
      setError(failure);
    } finally {
      setStarting(false);
    }
  };
  return (
    <Dialog title={words.start} onClose={onClose}>
      <form
        class="stack loose"
        onSubmit={(event) => {
          event.preventDefault();
          if (isWhole(plan) && !isStarting) void start();
        }}
      >
        <Questions plan={plan} change={change} runs={runs} />
        <Retrievers plan={plan} change={change} />
        <Filter plan={plan} change={change} />
        <Answers plan={plan} change={change} />
        <Field label={words.runName}>
          <input
            type="text"
            maxLength={200}
            value={plan.name}
            placeholder={words.runNameHint}
            onInput={(event) => change({ name: event.currentTarget.value })}
          />
        </Field>
        {error !== null && <ErrorState error={error} />}
        <footer class="row end">
          <Button kind="quiet" onClick={onClose}>
            {t.value.common.cancel}
          </Button>
          <Button kind="main" type="submit" icon="play" busy={isStarting} disabled={!isWhole(plan)}>
            {words.run}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

interface PartProps {
  plan: Plan;
  change: Change;
}

function Questions({ plan, change, runs }: PartProps & { runs: readonly Run[] }) {
  const words = t.value.evaluation;
  const sources = runs.length > 0 ? SOURCES : SOURCES.filter((source) => source !== "again");
  return (
    <div class="stack">
      <fieldset class="segments">
        <legend>{words.questions}</legend>
        {sources.map((source) => (
          <label key={source}>
            <input
              type="radio"
              name="source"
              checked={plan.source === source}
              onChange={() => change({ source })}
            />
            <span>{words.sources[source]}</span>
          </label>
        ))}
      </fieldset>
      {plan.source === "written" && (
        <Field label={words.writtenHint}>
          <textarea
            rows={5}
            spellcheck={false}
            value={plan.written}
            placeholder={words.writtenExample}
            onInput={(event) => change({ written: event.currentTarget.value })}
          />
        </Field>
      )}
      {plan.source === "file" && (
        <Field label={words.fileHint}>
          <input
            type="file"
            accept=".jsonl,.ndjson,.json,.txt"
            onChange={(event) => change({ file: event.currentTarget.files?.[0] ?? null })}
          />
          <code class="example small">{words.fileExample}</code>
        </Field>
      )}
      {plan.source === "again" && (
        <Field label={words.againHint}>
          <select
            value={plan.again}
            onChange={(event) => change({ again: event.currentTarget.value })}
          >
            {runs.map((run) => (
              <option key={run.id} value={run.id}>
                {`${run.name || run.id} · ${words.asks(run.questions + run.unanswerable)}`}
              </option>
            ))}
          </select>
        </Field>
      )}
    </div>
  );
}

interface Known {
  name: string;
  summary: string;
  needs_model: boolean;
}

function Retrievers({ plan, change }: PartProps) {
  const words = t.value.evaluation;
  const loaded = useLoaded("retrievers", async () => {
    const listed = await take(api.GET("/api/v1/retrievers"));
    const auto = { name: "auto", summary: String(listed.auto), needs_model: false };
    return [auto, ...(listed.retrievers as Known[])];
  });
  const toggle = (name: string, isWanted: boolean) => {
    const others = plan.retrievers.filter((each) => each !== name);
    change({ retrievers: isWanted ? [...others, name] : others });
  };
  return (
    <div class="stack">
      <fieldset>
        <legend class="small muted">{words.retrievers}</legend>
        {loaded.error && <ErrorState error={loaded.error} retry={loaded.reload} />}
        {loaded.isLoading && <Skeleton label={t.value.common.loading} />}
        <div class="retriever-list">
          {loaded.data?.map(({ name, summary, needs_model }) => (
            <label key={name} title={summary}>
              <input
                type="checkbox"
                checked={plan.retrievers.includes(name)}
                onChange={(event) => toggle(name, event.currentTarget.checked)}
              />
              <span class="clip">{name}</span>
              {needs_model && <span class="tag">{words.needsModel}</span>}
            </label>
          ))}
        </div>
      </fieldset>
      <Field label={words.composedHint}>
        <input
          type="text"
          spellcheck={false}
          maxLength={500}
          placeholder="bm25 + graph > diversify"
          value={plan.composed}
          onInput={(event) => change({ composed: event.currentTarget.value })}
        />
      </Field>
    </div>
  );
}

function Filter({ plan, change }: PartProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="stack tight">
      <div class="row">
        <FilterToggle filter={plan.filter} isOpen={isOpen} onClick={() => setOpen(!isOpen)} />
      </div>
      {isOpen && (
        <FilterForm
          workspace={workspace.value}
          filter={plan.filter}
          onChange={(filter) => change({ filter })}
        />
      )}
    </div>
  );
}

function Answers({ plan, change }: PartProps) {
  const words = t.value.evaluation;
  return (
    <div class="stack tight">
      <Check
        label={words.judgeAnswers}
        isChecked={plan.answers}
        onChange={(answers) => change({ answers })}
      />
      {plan.answers && plan.source !== "again" && (
        <Field label={words.unanswerableHint}>
          <input
            type="file"
            accept=".jsonl,.ndjson,.json,.txt"
            onChange={(event) => change({ unanswerable: event.currentTarget.files?.[0] ?? null })}
          />
        </Field>
      )}
      <Check
        label={words.useModel}
        isChecked={plan.useModel}
        onChange={(useModel) => change({ useModel })}
      />
      {plan.useModel && (
        <Field label={words.budgetHint}>
          <input
            type="text"
            maxLength={40}
            placeholder="200k"
            value={plan.budget}
            onInput={(event) => change({ budget: event.currentTarget.value })}
          />
        </Field>
      )}
    </div>
  );
}

interface CheckProps {
  label: string;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}

function Check({ label, isChecked, onChange }: CheckProps) {
  return (
    <label class="row">
      <input
        type="checkbox"
        checked={isChecked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the field is among the children
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}
