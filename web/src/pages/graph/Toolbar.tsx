import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button, IconButton } from "../../components/Button";
import { Form, Tabs } from "../../components/Fields";
import { Menu, MenuList } from "../../components/Menu";
import { t } from "../../i18n";
import { go, linkTo, place, workspace } from "../../state/location";
import { set } from "../../state/set";
import { ask, asked, focusOn, NO_PATH, VIEWS } from "./asked";
import { isListOpen } from "./Corrections";
import type { Kind } from "./exporting";
import { Search } from "./Search";
import { readViews, removeView, saved, saveView, takePlaces } from "./views";

const EXPORTS = {
  png: "Image (PNG)",
  svg: "Vector image (SVG)",
  graphml: "Graph (GraphML)",
} as const;

const VIEW_NAMES = { map: "Map", communities: "Communities", table: "Table" } as const;

interface ToolbarProps {
  field: RefObject<HTMLInputElement | null>;
  onExport: (kind: Kind) => unknown;
}

/** The views of the graph, its search, and what can be done. */
export function Toolbar({ field, onExport }: ToolbarProps) {
  const { view, way } = asked.value;
  const kinds = view === "map" ? (["png", "svg", "graphml"] as const) : (["graphml"] as const);
  return (
    <div class="row wrap map-toolbar">
      <Tabs
        class="map-views"
        label={t("Views of the graph")}
        options={VIEWS}
        say={(name) => t(VIEW_NAMES[name])}
        chosen={view}
        onChoose={(name) => ask({ view: name === "map" ? null : name, at: null })}
      />
      {view !== "communities" && (
        <>
          <Search
            label={t("Find an entity or a phrase")}
            field={field}
            onChoose={focusOn}
            onPhrase={(q) => ask({ q, focus: null, at: null, ...NO_PATH })}
          />
          <div class="row map-tools">
            <IconButton
              icon="route"
              label={t("Find path")}
              pressed={way !== null}
              onClick={() => ask(way ? NO_PATH : { path: 1, from: asked.value.focus, pick: null })}
            />
            <SavedViews />
            <IconButton
              icon="history"
              label={t("Corrections")}
              onClick={() => set(isListOpen, true)}
            />
            <Menu
              label={t("Export")}
              icon="download"
              side="right"
              content={(close) => (
                <MenuList
                  close={close}
                  items={kinds.map((kind) => ({
                    label: t(EXPORTS[kind]),
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
  const [name, setName] = useState("");
  const here = workspace.value;
  useEffect(() => readViews(here), [here]);
  return (
    <Menu
      label={t("Saved views")}
      icon="tag"
      side="right"
      content={(close) => (
        <div class="stack menu-body">
          {saved.value.length === 0 && (
            <p class="small muted">
              {t("No saved views yet. A view keeps the filters, the selection and the positions.")}
            </p>
          )}
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
                  label={t("Delete the view {name}", { name: view.name })}
                  onClick={() => removeView(here, view.name)}
                />
              </li>
            ))}
          </ul>
          <Form
            class="row"
            onSend={() => {
              if (name.trim()) saveView(here, name.trim(), place.value.query.toString());
              setName("");
            }}
          >
            <input
              aria-label={t("Name of this view")}
              placeholder={t("Name of this view")}
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
            <Button label={t("Save")} type="submit" kind="main" disabled={!name.trim()} />
          </Form>
        </div>
      )}
    />
  );
}
