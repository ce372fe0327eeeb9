import { useEffect, useState } from "preact/hooks";
import { Button, IconButton } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { Pending } from "../../components/ErrorState";
import { Choice, SearchField } from "../../components/Fields";
import { usePaused } from "../../components/find";
import { Card } from "../../components/Section";
import { SortHead } from "../../components/TableBox";
import { numbersBetween, useVirtualRows } from "../../components/virtual";
import { count, day, size, t } from "../../i18n";
import { asked, go, linkTo, setQuery, workspace } from "../../state/location";
import { chooseSources } from "../../state/sources";
import { mayWrite } from "../../state/workspaces";
import { EditRow } from "./EditRow";
import { FILE_STATES, FileState, FileTitle } from "./FileState";
import { RemoveButton, readAgain } from "./fileActions";
import {
  COLUMNS,
  type Entry,
  fileName,
  listAll,
  type Query,
  type State,
  titleOf,
  useListing,
} from "./listing";

const ROW_PIXELS = 52;
const PAUSE_MS = 250;
const STATES = ["any", "ready", "waiting", "attention"] as const;
type ColumnName = keyof typeof COLUMNS;
const NUMBERS = new Set<string>(["pages", "chunks", "size"]);

/** All files of the workspace: sorted, filtered, selected, edited in place. */
export function FileTable() {
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
  const selectAll = async () => select(await listAll(workspace.value, query), true);
  const { loaded } = files;
  if (!loaded.data && !loaded.error) return <Pending of={loaded} lines={6} />;
  if (!loaded.error && Object.values(files.counts).every((n) => n === 0)) return null;
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
    <Card
      class="stack"
      title={
        <>
          {t("Files")} <span class="muted number">{count(files.total)}</span>
        </>
      }
      side={
        <Choice
          legend={t("State")}
          isPlain
          options={STATES}
          say={(name) =>
            name === "any"
              ? t("All")
              : `${t(FILE_STATES[name][0])} ${count(files.counts[name] ?? 0)}`.replace(/ 0$/, "")
          }
          chosen={query.state as (typeof STATES)[number]}
          onChange={(name) => setQuery({ state: name === "any" ? null : name })}
        />
      }
    >
      <div class="row wrap">
        <Find name={query.name} />
        {tag && (
          <Button
            label={t("Tag: {tag}", { tag })}
            icon="close"
            onClick={() => setQuery({ tag: null })}
          />
        )}
      </div>
      {selected.size > 0 && (
        <Selected
          entries={[...selected.values()]}
          onClear={() => setSelected(new Map())}
          all={isAll ? 0 : files.total}
          onAll={selectAll}
        />
      )}
      <Pending of={loaded} />
      {files.total === 0 ? (
        <Empty icon="search" title={t("No files")} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
        <div class="virtual file-table" ref={view.box} tabIndex={0} onScroll={view.onScroll}>
          <table aria-label={t("Files")} aria-rowcount={files.total + 1}>
            <thead>
              <tr>
                <th scope="col" class="tick">
                  <input
                    type="checkbox"
                    aria-label={t("Select all files")}
                    checked={isAll}
                    onChange={() => (isAll ? setSelected(new Map()) : selectAll())}
                  />
                </th>
                {(Object.keys(COLUMNS) as ColumnName[]).map((name) => (
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
    </Card>
  );
}

function Column({ name, sort }: { name: ColumnName; sort: string }) {
  const isSorted = sort.replace("-", "") === name;
  const isDown = sort.startsWith("-");
  // Numbers and dates are looked at from the largest on.
  const first = NUMBERS.has(name) || name === "date" ? `-${name}` : name;
  const other = isDown ? name : `-${name}`;
  return (
    <SortHead
      label={t(COLUMNS[name][0])}
      class={`${name} ${NUMBERS.has(name) ? "number" : ""}`}
      width={COLUMNS[name][1]}
      order={isSorted ? (isDown ? "descending" : "ascending") : "none"}
      onSort={() => setQuery({ sort: isSorted ? other : first })}
    />
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
  const name = fileName(entry);
  const title = titleOf(entry);
  const isText = entry.chunks > 0 || entry.state === "ready";
  return (
    <tr class={isSelected ? "selected" : ""} aria-rowindex={index}>
      <td class="tick">
        <input
          type="checkbox"
          aria-label={t("Select {name}", { name: title })}
          checked={isSelected}
          onChange={(event) => onSelect(event.currentTarget.checked)}
        />
      </td>
      <td class="title">
        <FileTitle entry={entry} href={isText ? linkTo("documents", { doc: entry.id }) : ""} />
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
          <IconButton
            icon="edit"
            label={t("Edit details of {name}", { name: title })}
            onClick={onEdit}
          />
        )}
        {isEdited && <EditRow entry={entry} onEnd={onEnd} />}
      </td>
    </tr>
  );
}

function Find({ name }: { name: string }) {
  const [typed, setTyped] = useState(name);
  const sought = usePaused(typed, PAUSE_MS);
  useEffect(() => setTyped(name), [name]);
  useEffect(() => {
    if (sought === typed && sought !== name)
      setQuery({ name: sought }, { replace: true, on: "library" });
  }, [sought]);
  return (
    <search class="grow">
      <SearchField hasKey label={t("Find by title or file name")} text={typed} onText={setTyped} />
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
  const documents = entries.filter((entry) => entry.chunks > 0);
  const limit = () => {
    chooseSources(documents);
    go(linkTo("ask"));
  };
  return (
    <div class="selected row wrap">
      <strong role="status">{t("{n} {n:file|files} selected", { n: entries.length })}</strong>
      {all > 0 && <Button label={t("Select all {n}", { n: all })} kind="quiet" onClick={onAll} />}
      <Button
        label={t("Limit questions to these")}
        icon="ask"
        disabled={documents.length === 0}
        onClick={limit}
      />
      {mayWrite.value && (
        <>
          <Button
            label={t("Read again")}
            icon="refresh"
            onClick={() => readAgain(entries).then(onClear)}
          />
          <RemoveButton entries={entries} kind="danger" onDone={onClear} />
        </>
      )}
      <Button label={t("Clear selection")} kind="quiet" icon="close" onClick={onClear} />
    </div>
  );
}
