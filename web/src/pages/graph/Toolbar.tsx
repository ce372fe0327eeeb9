import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button, IconButton } from "../../components/Button";
import { Menu, MenuList } from "../../components/Menu";
import { t } from "../../i18n";
import { go, linkTo, place, workspace } from "../../state/location";
import { set } from "../../state/set";
import { ask, asked, NO_PATH, VIEWS } from "./asked";
import { isListOpen } from "./Corrections";
import type { Kind } from "./exporting";
import { Search } from "./Search";
import { readViews, removeView, saved, saveView, takePlaces } from "./views";

interface ToolbarProps {
  field: RefObject<HTMLInputElement | null>;
  onFocus: (id: string) => void;
  onExport: (kind: Kind) => unknown;
}

/** The views of the graph, its search, and what can be done. */
export function Toolbar({ field, onFocus, onExport }: ToolbarProps) {
  const words = t.value.graph;
  const { view, way } = asked.value;
  const kinds = view === "map" ? (["png", "svg", "graphml"] as const) : (["graphml"] as const);
  return (
    <div class="row map-toolbar">
      <nav class="row map-views" aria-label={words.views}>
        {VIEWS.map((name) => (
          <button
            key={name}
            type="button"
            aria-current={view === name ? "page" : undefined}
            onClick={() => ask({ view: name === "map" ? null : name, at: null })}
          >
            {words.viewNames[name]}
          </button>
        ))}
      </nav>
      {view !== "communities" && (
        <>
          <Search
            label={words.search}
            field={field}
            onChoose={onFocus}
            onPhrase={(q) => ask({ q, focus: null, at: null, ...NO_PATH })}
          />
          <div class="row map-tools">
            <IconButton
              icon="route"
              label={words.findPath}
              pressed={way !== null}
              onClick={() => ask(way ? NO_PATH : { path: 1, from: asked.value.focus, pick: null })}
            />
            <SavedViews />
            <IconButton
              icon="history"
              label={words.corrections}
              onClick={() => set(isListOpen, true)}
            />
            <Menu
              label={words.export}
              icon="download"
              side="right"
              content={(close) => (
                <MenuList
                  close={close}
                  items={kinds.map((kind) => ({
                    label: words.exports[kind],
                    run: () => onExport(kind),
                  }))}
                />
              )}
            />
          </div>
        </>
      )}
    </div>
  );
}

/** Views that were saved in this browser; each has an address that can be shared. */
function SavedViews() {
  const words = t.value.graph;
  const [name, setName] = useState("");
  const here = workspace.value;
  useEffect(() => readViews(here), [here]);
  return (
    <Menu
      label={words.savedViews}
      icon="tag"
      side="right"
      content={(close) => (
        <div class="stack saved-views">
          {saved.value.length === 0 && <p class="small muted">{words.noViews}</p>}
          <ul>
            {saved.value.map((view) => (
              <li key={view.name} class="row between">
                <Button
                  kind="link"
                  label={view.name}
                  onClick={() => {
                    takePlaces(view);
                    go(linkTo("graph", Object.fromEntries(new URLSearchParams(view.query))));
                    close();
                  }}
                />
                <IconButton
                  icon="delete"
                  label={words.removeView(view.name)}
                  onClick={() => removeView(here, view.name)}
                />
              </li>
            ))}
          </ul>
          <form
            class="row"
            onSubmit={(event) => {
              event.preventDefault();
              if (name.trim()) saveView(here, name.trim(), place.value.query.toString());
              setName("");
            }}
          >
            <input
              aria-label={words.viewName}
              placeholder={words.viewName}
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
            <Button label={t.value.common.save} type="submit" kind="main" disabled={!name.trim()} />
          </form>
        </div>
      )}
    />
  );
}
