import { useEffect, useId, useRef, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { tellError } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";
import { sayType } from "./words";

interface SearchProps {
  label: string;
  onChoose: (id: string, name: string) => void;
  /** Gets the field, so that a key can lead there. */
  field?: { current: HTMLInputElement | null };
  initial?: string;
}

const WAIT_MS = 140;

/** A field that finds entities by name. */
export function Search({ label, onChoose, field, initial = "" }: SearchProps) {
  const [text, setText] = useState(initial);
  const [sought, setSought] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const own = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => setText(initial), [initial]);
  useEffect(() => {
    const timer = setTimeout(() => setSought(text.trim()), WAIT_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const wanted = isOpen && sought ? `${workspace.value}\n${sought}` : "";
  const found = useLoaded(
    wanted,
    (signal) =>
      take(
        api.GET("/api/v1/workspaces/{workspace}/entities", {
          params: { path: { workspace: workspace.value }, query: { name: sought, limit: 12 } },
          signal,
        }),
      ),
    { keepsOld: true },
  );
  const things = wanted ? (found.data?.entities ?? []) : [];
  const words = t.value.graph;
  const choose = (index: number) => {
    const thing = things[index];
    if (!thing) return;
    setText(thing.name);
    setOpen(false);
    own.current?.blur();
    onChoose(thing.id, thing.name);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (things.length) setAt((at + step + things.length) % things.length);
      setOpen(true);
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(at);
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
        aria-activedescendant={isListed && things.length ? `${id}-${at}` : undefined}
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
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
            aria-selected={index === at}
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => choose(index)}
          >
            <span class="clip" title={thing.name}>
              {thing.name}
            </span>
            <span class="faint small">
              {[sayType(thing.type), words.passages(thing.chunks)].filter(Boolean).join(" · ")}
            </span>
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
