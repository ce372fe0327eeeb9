import type { ComponentChildren } from "preact";

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

interface SelectProps<T extends string> {
  label: string;
  /** How the name looks; a hidden one is for those who do not see where the list stands. */
  labelClass?: string;
  value: T;
  onChoose: (option: T) => void;
  /** Its options. */
  children: ComponentChildren;
}

/** A list of which one is chosen, with its name before it. */
export function Select<T extends string>(props: SelectProps<T>) {
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
