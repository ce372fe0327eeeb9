import { useEffect, useRef, useState } from "preact/hooks";
import { Combobox } from "../../components/Combobox";
import { tellError } from "../../components/ErrorState";
import { findEntities, usePaused } from "../../components/find";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";

interface SearchProps {
  label: string;
  onChoose: (id: string) => void;
  /** Gets what was typed if it is a phrase rather than a name. */
  onPhrase?: (phrase: string) => void;
  /** What is looked for; entities by default. */
  find?: typeof findEntities;
  /** Gets the field, so that a key can lead there. */
  field?: { current: HTMLInputElement | null };
  initial?: string;
}

/** Words from which on a text is rather a phrase than a name. */
const PHRASE_WORDS = 3;

/** A field that finds entities by name, and lets a phrase be looked up as a whole. */
export function Search(props: SearchProps) {
  const { label, onChoose, onPhrase, initial = "", find = findEntities } = props;
  const [text, setText] = useState(initial);
  const sought = usePaused(text.trim());
  const [isOpen, setOpen] = useState(false);
  const own = useRef<HTMLInputElement>(null);
  const field = props.field ?? own;
  useEffect(() => setText(initial), [initial]);
  const wanted = isOpen && sought ? `${workspace.value}\n${sought}` : "";
  const found = useLoaded(wanted, (signal) => find(sought, signal), { keepsOld: true });
  const names = (wanted ? (found.data ?? []) : []).map(({ note, detail, ...option }) => {
    return { ...option, note: [note, detail].filter(Boolean).join(" · ") };
  });
  const phrase = { id: "", label: t("Show all for “{text}”", { text: sought }), note: "" };
  const options = onPhrase && wanted ? [...names, phrase] : names;
  const isPhrase = onPhrase && sought.split(/\s+/).length >= PHRASE_WORDS;
  const isNamed = names.some((option) => option.label.toLowerCase() === sought.toLowerCase());
  const close = () => {
    setOpen(false);
    field.current?.blur();
  };
  const choose = (index: number) => {
    const typed = text.trim();
    // What was typed may be newer than what is listed.
    const option = typed === sought ? options[index] : undefined;
    if (!option && !(onPhrase && typed)) return;
    close();
    if (option?.id) {
      setText(option.label);
      onChoose(option.id);
    } else onPhrase?.(typed);
  };
  const isNothing = !found.isLoading && options.length === 0;
  return (
    <div class="map-search">
      <Combobox
        label={label}
        field={field}
        text={text}
        options={options}
        preferred={isPhrase && !isNamed ? names.length : 0}
        isOpen={wanted !== "" && !found.error}
        onChoose={choose}
        onText={(next) => {
          setText(next);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={(event) => {
          if (event.key.startsWith("Arrow")) setOpen(true);
          if (event.key !== "Escape" || !isOpen) return;
          event.preventDefault();
          event.stopPropagation();
          close();
        }}
      />
      {wanted !== "" && (
        <p class="raised map-search-note" role="status">
          {found.error
            ? tellError(found.error)
            : isNothing
              ? t("No match for “{text}”.", { text: sought })
              : ""}
        </p>
      )}
    </div>
  );
}
