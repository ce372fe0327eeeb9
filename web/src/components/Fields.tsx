/** Fields of forms, with what they are called. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** A field with its name above it. */
export function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the field is among the children
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  /** How the name looks; a hidden one is for those who do not see where the list stands. */
  labelClass?: string;
  value: T;
  onChoose: (option: T) => void;
  /** Its options. */
  children: ComponentChildren;
}

/** A list of which one is chosen, with its name before it. */
export function Choice<T extends string>(props: ChoiceProps<T>) {
  const { label, labelClass = "muted", value, onChoose, children } = props;
  return (
    <label class="row small">
      <span class={labelClass}>{label}</span>
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value as T)}>
        {children}
      </select>
    </label>
  );
}

/** Return options of a list. */
export function optionsOf<T extends string>(names: readonly T[], say: (name: T) => string) {
  return names.map((name) => (
    <option key={name} value={name}>
      {say(name)}
    </option>
  ));
}

interface SegmentsProps<T extends string> {
  legend: string;
  /** Whether the legend is only for those who do not see what the options are. */
  isBare?: boolean;
  options: readonly T[];
  say: (option: T) => string;
  value: T;
  onChoose: (option: T) => void;
}

/** Options beside each other, of which one is chosen. */
export function Segments<T extends string>(props: SegmentsProps<T>) {
  const { legend, isBare, options, say, value, onChoose } = props;
  const name = useId();
  return (
    <fieldset class="segments">
      <legend class={isBare ? "only-spoken" : undefined}>{legend}</legend>
      {options.map((option) => (
        <label key={option}>
          <input
            type="radio"
            name={name}
            checked={value === option}
            onChange={() => onChoose(option)}
          />
          <span>{say(option)}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface CheckProps {
  label: string;
  /** Of a form that is sent as it is. */
  name?: string;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}

/** Something that is on or off. */
export function Check({ label, name, isChecked, onChange }: CheckProps) {
  return (
    <label class="switch">
      <input
        type="checkbox"
        name={name}
        value="true"
        checked={isChecked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
