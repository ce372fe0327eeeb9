import type { RefObject } from "preact";
import { Button, IconButton } from "../../components/Button";
import { Menu } from "../../components/Menu";
import { t } from "../../i18n";
import { ask } from "./asked";
import type { Atlas, Community } from "./atlas";
import { Filters } from "./Filters";
import { Search } from "./Search";

interface ToolbarProps {
  atlas: Atlas;
  field: RefObject<HTMLInputElement | null>;
  isTable: boolean;
  canDraw: boolean;
  onChoose: (id: string) => void;
  onPath: () => void;
  onExport: (kind: "png" | "svg" | "graphml") => unknown;
}

/** What can be done with the map. */
export function Toolbar(props: ToolbarProps) {
  const words = t.value.graph;
  const kinds = props.isTable ? (["graphml"] as const) : (["png", "svg", "graphml"] as const);
  return (
    <div class="map-toolbar" role="toolbar" aria-label={words.tools}>
      <Search label={words.search} onChoose={props.onChoose} field={props.field} />
      <div class="row map-tools">
        <Filters atlas={props.atlas} />
        <IconButton icon="route" label={words.findPath} onClick={props.onPath} />
        {props.canDraw && (
          <IconButton
            icon="table"
            label={words.table}
            pressed={props.isTable}
            onClick={() => ask({ view: props.isTable ? "map" : "table" })}
          />
        )}
        <Menu
          label={words.export}
          icon="download"
          side="right"
          content={(close) => (
            <div class="menu-list">
              {kinds.map((kind) => (
                <Button
                  key={kind}
                  kind="quiet"
                  onClick={async () => {
                    await props.onExport(kind);
                    close();
                  }}
                >
                  {words.exports[kind]}
                </Button>
              ))}
            </div>
          )}
        />
      </div>
    </div>
  );
}

/** Where one is: from all communities down to the one in view. */
export function Crumbs({ chain }: { chain: readonly Community[] }) {
  const words = t.value.graph;
  return (
    <nav class="crumbs map-crumbs" aria-label={words.where}>
      <button
        type="button"
        class="link-button"
        aria-current={chain.length === 0 ? "location" : undefined}
        onClick={() => ask({ c: null, at: null, focus: null })}
      >
        {words.overview}
      </button>
      {chain.map((community, index) => (
        <button
          key={community.id}
          type="button"
          class="link-button clip"
          title={community.title}
          aria-current={index === chain.length - 1 ? "location" : undefined}
          onClick={() => ask({ c: community.id, at: null, focus: null })}
        >
          {community.title}
        </button>
      ))}
    </nav>
  );
}
