/** Fields that many pages have. */

import type { ComponentChildren, ComponentProps } from "preact";
import { useRef } from "preact/hooks";
import { useShortcuts } from "../state/keys";
import { Icon } from "./Icon";

interface SearchFieldProps {
  label: string;
  text: string;
  onText: (text: string) => void;
  /** Whether the key `/` leads there. */
  hasKey?: boolean;
  class?: string;
}

/** A field to search in, with a lens in it. */
export function SearchField(props: SearchFieldProps) {
  const { label, text, onText, hasKey = false, class: kind = "" } = props;
  const field = useRef<HTMLInputElement>(null);
  useShortcuts(hasKey ? [{ keys: "/", label, run: () => field.current?.focus() }] : []);
  return (
    <div class={`search-field ${kind}`}>
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    </div>
  );
}

interface TextFieldProps
  extends Pick<
    ComponentProps<"input">,
    "value" | "placeholder" | "maxLength" | "autofocus" | "autocomplete"
  > {
  label: string;
  type?: "text" | "password";
  list?: string;
  onInput: (text: string) => void;
}

/** A line of text, below its name. */
export function TextField({ label, onInput, type = "text", ...rest }: TextFieldProps) {
  const look = { ...rest, type } as ComponentProps<"input">;
  return (
    <label class="field">
      <span>{label}</span>
      <input {...look} onInput={(event) => onInput(event.currentTarget.value)} />
    </label>
  );
}

interface CheckProps {
  label: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
  /** Whether it takes effect at once. */
  isSwitch?: boolean;
}

/** A box to tick, with its words. */
export function Check({ label, isOn, onChange, isSwitch = false }: CheckProps) {
  return (
    <label class="row">
      <input
        type="checkbox"
        {...(isSwitch ? { role: "switch", "aria-checked": isOn } : {})}
        checked={isOn}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

interface ChoiceProps<T extends string> {
  legend: string;
  /** Whether the legend is for screen readers alone. */
  isPlain?: boolean;
  options: readonly T[];
  say: (option: T) => ComponentChildren;
  chosen: T;
  onChange: (option: T) => void;
}

/** One of a few things, all in view. */
export function Choice<T extends string>(props: ChoiceProps<T>) {
  const { legend, isPlain, options, say, chosen, onChange } = props;
  return (
    <fieldset class="segments">
      <legend class={isPlain ? "only-spoken" : ""}>{legend}</legend>
      {options.map((option) => (
        <label key={option}>
          <input
            type="radio"
            name={legend}
            checked={chosen === option}
            onChange={() => onChange(option)}
          />
          <span>{say(option)}</span>
        </label>
      ))}
    </fieldset>
  );
}
