import { useEffect, useState } from "preact/hooks";
import { Button, IconButton } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { Skeleton } from "../../components/Progress";
import { numbersBetween, useVirtualRows } from "../../components/virtual";
import { count, day, size, t } from "../../i18n";
import { useShortcuts } from "../../state/keys";
import { asked, go, linkTo, setQuery, workspace } from "../../state/location";
import { chooseSources } from "../../state/sources";
import { mayWrite } from "../../state/workspaces";
import { EditRow } from "./EditRow";
import { FileState } from "./FileState";
import { RemoveFiles, readAgain } from "./fileActions";
import { type Entry, fileName, listAll, type Query, type State, useListing } from "./listing";

const ROW_PIXELS = 52;
const PAUSE_MS = 250;
const STATES = ["any", "ready", "waiting", "attention"] as const;
const COLUMNS = ["title", "state", "pages", "chunks", "date", "author", "tags", "size"] as const;
const NUMBERS = new Set<string>(["pages", "chunks", "size"]);

/** All files of the workspace: sorted, filtered, selected, edited in place. */
export function FileTable() {
  const words = t.value.library.files;
  const tag = asked("tag");
  const query: Query = {
    name: asked("name"),
    tag,
    state: (asked("state") as State) || "any",
    sort: asked("sort") || "title",
  };
  const files = useListing(workspace.value, query);
  const view = useVirtualRows<HTMLDivElement>(files.total, ROW_PIXELS, files.show);
  const [selected, setSelected] = useState<ReadonlyMap<string, Entry>>(new Map());
  const [edited, setEdited] = useState("");
  const select = (entries: readonly Entry[], isChosen: boolean) => {
    const next = new Map(selected);
    for (const entry of entries) {
      if (isChosen) next.set(entry.uri, entry);
      else next.delete(entry.uri);
    }
    setSelected(next);
  };
  useShortcuts([
    { keys: "/", label: words.find, run: () => document.getElementById("find-file")?.focus() },
  ]);
  if (files.isFirst) return <Skeleton label={t.value.common.loading} lines={6} />;
  if (!files.error && Object.values(files.counts).every((n) => n === 0)) return null;
  const isAll = files.total > 0 && selected.size >= files.total;
  const row = (index: number) => {
    const entry = files.at(index);
    if (!entry) return <Gap key={index} pixels={ROW_PIXELS} />;
    return (
      <FileRow
        key={entry.uri}
        entry={entry}
        index={index + 2}
        isSelected={selected.has(entry.uri)}
        onSelect={(isChosen) => select([entry], isChosen)}
        isEdited={edited === entry.uri}
        onEdit={() => setEdited(entry.uri)}
        onEnd={() => setEdited("")}
      />
    );
  };
  return (
    <section class="card files" aria-labelledby="files-title">
      <div class="card-head">
        <h2 id="files-title">
          {words.title} <span class="muted number">{count(files.total)}</span>
        </h2>
        <fieldset class="segments">
          <legend class="only-spoken">{words.columns.state}</legend>
          {STATES.map((name) => (
            <label key={name}>
              <input
                type="radio"
                name="state"
                checked={query.state === name}
                onChange={() => setQuery({ state: name === "any" ? null : name })}
              />
              <span>
                {name === "any" ? t.value.common.all : words.states[name]}
                {name !== "any" && (files.counts[name] ?? 0) > 0 && (
                  <span class="number"> {count(files.counts[name] ?? 0)}</span>
                )}
              </span>
            </label>
          ))}
        </fieldset>
      </div>
      <div class="row wrap">
        <Find name={query.name} />
        {tag && (
          <Button icon="close" onClick={() => setQuery({ tag: null })}>
            {words.tagged(tag)}
          </Button>
        )}
      </div>
      {selected.size > 0 && (
        <Selected
          entries={[...selected.values()]}
          onClear={() => setSelected(new Map())}
          all={isAll ? 0 : files.total}
          onAll={async () => select(await listAll(workspace.value, query), true)}
        />
      )}
      {files.error && <ErrorState error={files.error} retry={files.reload} />}
      {files.total === 0 ? (
        <Empty icon="search" title={words.none} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
        <div class="virtual file-table" ref={view.box} tabIndex={0} onScroll={view.onScroll}>
          <table aria-label={words.title} aria-rowcount={files.total + 1}>
            <thead>
              <tr>
                <th scope="col" class="tick">
                  <input
                    type="checkbox"
                    aria-label={words.selectAll}
                    checked={isAll}
                    onChange={async (event) => {
                      if (!event.currentTarget.checked) setSelected(new Map());
                      else select(await listAll(workspace.value, query), true);
                    }}
                  />
                </th>
                {COLUMNS.map((name) => (
                  <Column key={name} name={name} sort={query.sort} />
                ))}
                <td class="act" />
              </tr>
            </thead>
            <tbody>
              <Gap pixels={view.before} />
              {numbersBetween(view.first, view.end).map(row)}
              <Gap pixels={view.after} />
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Column({ name, sort }: { name: (typeof COLUMNS)[number]; sort: string }) {
  const isSorted = sort.replace("-", "") === name;
  const isDown = sort.startsWith("-");
  // Numbers and dates are looked at from the largest on.
  const first = NUMBERS.has(name) || name === "date" ? `-${name}` : name;
  const other = isDown ? name : `-${name}`;
  return (
    <th
      scope="col"
      class={`${name} ${NUMBERS.has(name) ? "number" : ""}`}
      aria-sort={isSorted ? (isDown ? "descending" : "ascending") : "none"}
    >
      <button type="button" onClick={() => setQuery({ sort: isSorted ? other : first })}>
        {t.value.library.files.columns[name]}
        {isSorted && <Icon name={isDown ? "down" : "up"} size={12} />}
      </button>
    </th>
  );
}

/** The room of rows that are not drawn. */
function Gap({ pixels }: { pixels: number }) {
  if (pixels === 0) return null;
  return (
    <tr class="gap">
      <td style={{ height: `${pixels}px` }} />
    </tr>
  );
}

interface FileRowProps {
  entry: Entry;
  /** Its number in the table, from 1 for the head. */
  index: number;
  isSelected: boolean;
  onSelect: (isChosen: boolean) => void;
  isEdited: boolean;
  onEdit: () => void;
  onEnd: () => void;
}

function FileRow({ entry, index, isSelected, onSelect, isEdited, onEdit, onEnd }: FileRowProps) {
  const words = t.value.library.files;
  const name = fileName(entry);
  const title = entry.title || name.split("/").at(-1) || name;
  const isText = entry.chunks > 0 || entry.state === "ready";
  return (
    <tr class={isSelected ? "selected" : ""} aria-rowindex={index}>
      <td class="tick">
        <input
          type="checkbox"
          aria-label={words.select(title)}
          checked={isSelected}
          onChange={(event) => onSelect(event.currentTarget.checked)}
        />
      </td>
      <td class="title">
        {isText ? (
          <a class="clip" href={linkTo("documents", { doc: entry.id })} title={title}>
            {title}
          </a>
        ) : (
          <span class="clip" title={title}>
            {title}
          </span>
        )}
        {entry.title && (
          <span class="small faint clip" title={name}>
            {name}
          </span>
        )}
      </td>
      <td class="state">
        <FileState entry={entry} />
      </td>
      <td class="pages number">{entry.pages > 0 && count(entry.pages)}</td>
      <td class="chunks number">{isText && count(entry.chunks)}</td>
      <td class="date clip" title={entry.date || entry.changed}>
        {entry.date || <span class="faint">{day(entry.changed)}</span>}
      </td>
      <td class="author clip" title={entry.author}>
        {entry.author}
      </td>
      <td class="tags">
        {entry.tags.slice(0, 3).map((tag) => (
          <button key={tag} type="button" class="tag" onClick={() => setQuery({ tag })}>
            {tag}
          </button>
        ))}
      </td>
      <td class="size number">{entry.size > 0 && size(entry.size)}</td>
      <td class="act">
        {mayWrite.value && isText && (
          <IconButton icon="edit" label={words.edit(title)} onClick={onEdit} />
        )}
        {isEdited && <EditRow entry={entry} onEnd={onEnd} />}
      </td>
    </tr>
  );
}

function Find({ name }: { name: string }) {
  const words = t.value.library.files;
  const [typed, setTyped] = useState(name);
  useEffect(() => setTyped(name), [name]);
  useEffect(() => {
    if (typed === name) return;
    const timer = setTimeout(() => setQuery({ name: typed }, { replace: true }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, name]);
  return (
    <search class="search-field grow">
      <Icon name="search" />
      <input
        id="find-file"
        type="search"
        aria-label={words.find}
        placeholder={words.find}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </search>
  );
}

interface SelectedProps {
  entries: readonly Entry[];
  /** How many there are in all, or 0 if all are selected. */
  all: number;
  onAll: () => Promise<void>;
  onClear: () => void;
}

/** What can be done with the selected files. */
function Selected({ entries, all, onAll, onClear }: SelectedProps) {
  const words = t.value.library.files;
  const [isLeaving, setLeaving] = useState(false);
  const documents = entries.filter((entry) => entry.chunks > 0);
  const limit = () => {
    chooseSources(documents);
    go(linkTo("ask"));
  };
  return (
    <div class="selected row wrap">
      <strong role="status">{words.selected(entries.length)}</strong>
      {all > 0 && (
        <Button kind="quiet" onClick={onAll}>
          {words.selectThese(count(all))}
        </Button>
      )}
      <Button icon="ask" disabled={documents.length === 0} onClick={limit}>
        {words.limit}
      </Button>
      {mayWrite.value && (
        <>
          <Button icon="refresh" onClick={() => readAgain(entries).then(onClear)}>
            {words.readAgain}
          </Button>
          <Button icon="delete" kind="danger" onClick={() => setLeaving(true)}>
            {t.value.common.remove}
          </Button>
        </>
      )}
      <Button kind="quiet" icon="close" onClick={onClear}>
        {words.clear}
      </Button>
      {isLeaving && (
        <RemoveFiles entries={entries} onClose={() => setLeaving(false)} onDone={onClear} />
      )}
    </div>
  );
}
