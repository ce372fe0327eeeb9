import { useEffect, useId, useRef, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { tellError } from "../../components/ErrorState";
import { sayType } from "../../components/graph/types";
import { Icon } from "../../components/Icon";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";

export interface Found {
  id: string;
  name: string;
  note: string;
}

interface SearchProps {
  label: string;
  onChoose: (id: string, name: string) => void;
  /** Gets what was typed, where that is no name but a phrase. */
  onPhrase?: (phrase: string) => void;
  /** What is looked for; entities by default. */
  find?: (text: string, signal: AbortSignal) => Promise<Found[]>;
  /** Gets the field, so that a key can lead there. */
  field?: { current: HTMLInputElement | null };
  initial?: string;
}

const WAIT_MS = 140;
/** Words from which on a text is rather a phrase than a name. */
const PHRASE_WORDS = 3;

export async function findEntities(name: string, signal: AbortSignal): Promise<Found[]> {
  const params = { path: { workspace: workspace.value }, query: { name, limit: 12 } };
  const found = await take(api.GET("/api/v1/workspaces/{workspace}/entities", { params, signal }));
  return found.entities.map(({ id, name: called, type, chunks }) => ({
    id,
    name: called,
    note: [sayType(type), t.value.graph.passages(chunks)].filter(Boolean).join(" · "),
  }));
}

/** A field that finds entities by name, and lets a phrase be looked up as a whole. */
export function Search(props: SearchProps) {
  const { label, onChoose, onPhrase, field, initial = "", find = findEntities } = props;
  const [text, setText] = useState(initial);
  const [sought, setSought] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const own = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => setText(initial), [initial]);
  useEffect(() => {
    const timer = setTimeout(() => setSought(text.trim()), WAIT_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const wanted = isOpen && sought ? `${workspace.value}\n${sought}` : "";
  const found = useLoaded(wanted, (signal) => find(sought, signal), { keepsOld: true });
  const words = t.value.graph;
  const names = wanted ? (found.data ?? []) : [];
  const hasPhrase = onPhrase !== undefined && wanted !== "";
  const things = hasPhrase
    ? [...names, { id: "", name: words.searchFor(sought), note: "" }]
    : names;
  const isPhrase = hasPhrase && sought.split(/\s+/).length >= PHRASE_WORDS;
  const isNamed = names.some(({ name }) => name.toLowerCase() === sought.toLowerCase());
  const active =
    at >= 0 ? Math.min(at, things.length - 1) : isPhrase && !isNamed ? names.length : 0;
  const choose = (index: number) => {
    const typed = text.trim();
    // What was typed may be newer than what is listed.
    const thing = typed === sought ? things[index] : undefined;
    if (!thing && !(onPhrase && typed)) return;
    setOpen(false);
    own.current?.blur();
    if (thing?.id) {
      setText(thing.name);
      onChoose(thing.id, thing.name);
    } else onPhrase?.(typed);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (things.length) setAt((active + step + things.length) % things.length);
      setOpen(true);
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(active);
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
      own.current?.blur();
    }
  };
  const isListed = isOpen && wanted !== "" && !found.error;
  return (
    <div class="map-search">
      <Icon name="search" />
      <input
        ref={(element) => {
          own.current = element;
          if (field) field.current = element;
        }}
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded={isListed && things.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={isListed && things.length ? `${id}-${active}` : undefined}
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(-1);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
      />
      <div id={id} role="listbox" class="map-search-list" aria-label={label} hidden={!isListed}>
        {things.map((thing, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
          <div
            key={thing.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => choose(index)}
          >
            <span class="clip" title={thing.name}>
              {thing.name}
            </span>
            <span class="faint small">{thing.note}</span>
          </div>
        ))}
      </div>
      {isOpen && wanted !== "" && (
        <p class="map-search-note" role="status">
          {found.error
            ? tellError(found.error)
            : !found.isLoading && things.length === 0
              ? words.noneFound(sought)
              : ""}
        </p>
      )}
    </div>
  );
}
