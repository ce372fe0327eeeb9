/** Fields that many pages have. */

import type { ComponentChildren, ComponentProps } from "preact";
import { useRef } from "preact/hooks";
import { useShortcuts } from "../state/keys";
import { Sending, useAction } from "./Button";
import { Icon } from "./Icon";
import { Field } from "./Select";

interface FormProps extends Omit<ComponentProps<"form">, "onSubmit"> {
  onSend: (form: HTMLFormElement) => unknown;
}

/** Fields that are sent together; errors are reported as those of a button. */
export function Form({ onSend, ...rest }: FormProps) {
  const [isSending, run] = useAction();
  return (
    <Sending.Provider value={isSending}>
      <form
        {...rest}
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          run(() => onSend(form));
        }}
      />
    </Sending.Provider>
  );
}

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
    <Field label={label}>
      <input {...look} onInput={(event) => onInput(event.currentTarget.value)} />
    </Field>
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

interface TabsProps<T extends string> {
  label: string;
  options: readonly T[];
  say: (option: T) => string;
  chosen: T;
  onChoose: (option: T) => void;
  class?: string;
  /** Links to other views. */
  children?: ComponentChildren;
}

/** One of a few views of the same. */
export function Tabs<T extends string>(props: TabsProps<T>) {
  const { label, options, say, chosen, onChoose, class: kind = "", children } = props;
  return (
    <nav class={`row tabs ${kind}`} aria-label={label}>
      {options.map((name) => (
        <button
          key={name}
          type="button"
          aria-current={chosen === name ? "page" : undefined}
          onClick={() => onChoose(name)}
        >
          {say(name)}
        </button>
      ))}
      {children}
    </nav>
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
