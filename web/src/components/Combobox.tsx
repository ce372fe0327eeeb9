import type { ComponentProps, Ref } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { Icon, type IconName } from "./Icon";

export interface Option {
  id: string;
  label: string;
  note: string;
  icon?: IconName;
}

type Inherited = "placeholder" | "onFocus" | "onBlur" | "onKeyDown" | "children";

interface ComboboxProps extends Pick<ComponentProps<"input">, Inherited> {
  label: string;
  text: string;
  onText: (text: string) => void;
  options: readonly Option[];
  /** Gets the number of an option; that of Enter is -1 if there is none. */
  onChoose: (index: number) => void;
  /** The option that Enter takes as long as no other is chosen. */
  preferred?: number;
  isOpen?: boolean;
  field?: Ref<HTMLInputElement>;
}

/** A field with a list of what its text may mean. The field keeps the focus, and its keys choose. */
export function Combobox(props: ComboboxProps) {
  const { label, text, onText, options, onChoose, preferred = 0, isOpen = true, field } = props;
  const { onKeyDown, children, placeholder = label, onFocus, onBlur } = props;
  const [at, setAt] = useState(-1);
  const id = useId();
  const active = Math.min(at < 0 ? preferred : at, options.length - 1);
  const isListed = isOpen && options.length > 0;
  useEffect(() => {
    if (at >= 0) document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at, id]);
  return (
    <>
      <div class="search-field">
        <Icon name="search" />
        <input
          ref={field ?? null}
          type="text"
          role="combobox"
          aria-label={label}
          aria-expanded={isListed}
          aria-controls={id}
          aria-autocomplete="list"
          aria-activedescendant={isListed ? `${id}-${active}` : undefined}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setAt(-1);
            onText(event.currentTarget.value);
          }}
          onFocus={onFocus}
          onBlur={onBlur}
          onKeyDown={(event) => {
            onKeyDown?.(event);
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (step && options.length) setAt((active + step + options.length) % options.length);
            else if (event.key === "Enter" && !event.isComposing) onChoose(active);
            else return;
            event.preventDefault();
          }}
        />
        {children}
      </div>
      <div id={id} role="listbox" class="options raised" aria-label={label} hidden={!isOpen}>
        {options.map((option, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          <div
            key={option.id}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onPointerDown={(event) => event.preventDefault()}
            onPointerMove={() => setAt(index)}
            onClick={() => onChoose(index)}
          >
            {option.icon && <Icon name={option.icon} />}
            <span class="grow clip" title={option.label}>
              {option.label}
            </span>
            <span class="faint small">{option.note}</span>
          </div>
        ))}
      </div>
    </>
  );
}
