import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { t } from "../../i18n";
import { useCall } from "../../state/calls";
import { Button, IconButton } from "../Button";
import { ErrorState } from "../ErrorState";
import { optionsOf } from "../Select";
import {
  COMPARISONS,
  type Comparison,
  type Condition,
  needsValue,
  readFilter,
  writeFilter,
} from "./conditions";

const COMPARISON_NAMES = {
  "=": "is",
  "!=": "is not",
  contains: "contains",
  ">": "is greater than",
  ">=": "is at least",
  "<": "is less than",
  "<=": "is at most",
  set: "is set",
  unset: "is not set",
} as const;

type Field = Shapes["FieldInfo"];

const NEW: Condition = { field: "", comparison: "=", value: "" };

/** Return the button that opens the form of a filter, with how many conditions there are, and the
 * form once it is open; `onChange` takes the text of what is complete so far. */
export function useFilter(filter: string, onChange: (filter: string) => void) {
  const [isOpen, setOpen] = useState(filter !== "");
  const number = filter.trim() ? (readFilter(filter)?.length ?? 1) : 0;
  const toggle = (
    <Button
      label={number ? t("Filter ({n})", { n: number }) : t("Filter")}
      kind="quiet"
      icon="filter"
      expanded={isOpen}
      pressed={number > 0}
      onClick={() => setOpen(!isOpen)}
    />
  );
  return [toggle, isOpen && <FilterForm filter={filter} onChange={onChange} />] as const;
}

interface FormProps {
  filter: string;
  onChange: (filter: string) => void;
}

/** Conditions on documents and pages, of the fields that the workspace has. */
function FilterForm({ filter, onChange }: FormProps) {
  const [rows, setRows] = useState<readonly Condition[] | null>(() => startOf(filter));
  // What was written here is not taken apart while it is written; the address may say something else.
  const written = useRef(filter);
  useEffect(() => {
    if (filter !== written.current) setRows(startOf(filter));
    written.current = filter;
  }, [filter]);
  const fields = useCall("get", "/fields", {});
  const write = (text: string) => {
    written.current = text;
    onChange(text);
  };
  const change = (next: readonly Condition[]) => {
    setRows(next);
    write(writeFilter(next));
  };
  return (
    <fieldset class="filter-form stack tight">
      <legend class="small muted">{t("Documents and pages must match all conditions")}</legend>
      {fields.error && <ErrorState error={fields.error} retry={fields.reload} />}
      {rows === null ? (
        <input
          type="text"
          aria-label={t("Filter as text")}
          value={filter}
          onInput={(event) => write(event.currentTarget.value)}
        />
      ) : (
        <ul class="stack tight">
          {rows.map((row, number) => (
            <li key={number}>
              <Row
                number={number + 1}
                condition={row}
                fields={fields.data ?? []}
                onChange={(next) => change(rows.with(number, next))}
                onRemove={() => change(rows.toSpliced(number, 1))}
              />
            </li>
          ))}
        </ul>
      )}
      <div class="row wrap">
        {rows !== null && (
          <Button
            label={t("Add condition")}
            kind="quiet"
            icon="plus"
            onClick={() => setRows([...rows, NEW])}
          />
        )}
        {filter && (
          <Button
            label={t("Clear filter")}
            kind="quiet"
            icon="close"
            onClick={() => change([NEW])}
          />
        )}
      </div>
    </fieldset>
  );
}

interface RowProps {
  number: number;
  condition: Condition;
  fields: readonly Field[];
  onChange: (condition: Condition) => void;
  onRemove: () => void;
}

function Row({ number, condition, fields, onChange, onRemove }: RowProps) {
  const id = useId();
  const { field, comparison, value } = condition;
  const names = fields.map(({ name }) => name);
  // What the address says is shown, though no document has it any more.
  const listed = field && !names.includes(field) ? [field, ...names] : names;
  const change = (part: Partial<Condition>) => onChange({ ...condition, ...part });
  return (
    <div class="row wrap filter-row">
      <select
        aria-label={t("Field {n}", { n: number })}
        value={field}
        onChange={(event) => change({ field: event.currentTarget.value })}
      >
        <option value="">{t("Choose a field")}</option>
        {optionsOf(listed, (name) => name)}
      </select>
      <select
        aria-label={t("Comparison {n}", { n: number })}
        value={comparison}
        onChange={(event) => change({ comparison: event.currentTarget.value as Comparison })}
      >
        {optionsOf(COMPARISONS, (name) => t(COMPARISON_NAMES[name]))}
      </select>
      {needsValue(comparison) && (
        <>
          <input
            type="text"
            aria-label={t("Value {n}", { n: number })}
            list={id}
            value={value}
            onInput={(event) => change({ value: event.currentTarget.value })}
          />
          <datalist id={id}>
            {fields
              .find(({ name }) => name === field)
              ?.examples.map((example) => (
                <option key={example} value={example} />
              ))}
          </datalist>
        </>
      )}
      <IconButton
        icon="close"
        label={t("Remove condition {n}", { n: number })}
        onClick={onRemove}
      />
    </div>
  );
}

/** Return the conditions to begin with, at least a row to fill in; null for a text. */
function startOf(filter: string): readonly Condition[] | null {
  const found = readFilter(filter);
  return found?.length === 0 ? [NEW] : found;
}
