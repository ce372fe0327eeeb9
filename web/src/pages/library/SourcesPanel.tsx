import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { Pending } from "../../components/ErrorState";
import { SearchField } from "../../components/Fields";
import { Icon } from "../../components/Icon";
import { CurrentJob } from "../../components/shell/JobsTray";
import { numbersBetween, useVirtualRows } from "../../components/virtual";
import { count, t } from "../../i18n";
import { addressOf } from "../../state/location";
import { set } from "../../state/set";
import { chooseSources, chosenSources } from "../../state/sources";
import { mayWrite } from "../../state/workspaces";
import { FileButton } from "./FileButton";
import { FileState, FileTitle } from "./FileState";
import { FolderList } from "./FolderList";
import { type Entry, type Query, titleOf, useListing } from "./listing";
import "./library.css";
import { addFiles } from "./sending";
import { Unfinished } from "./Unfinished";

const ROW_PIXELS = 44;
const FEW = 20;

interface SourceRowProps {
  workspace: string;
  /** Gets a click on a document: what it opens beside. */
  onOpen: (event: MouseEvent, document: string) => void;
}

interface SourcesPanelProps extends SourceRowProps {
  /** The language model that reads, empty for none; undefined as long as that is not known. */
  model: string | undefined;
}

/** The files of a workspace in a narrow column: their states, and ticks that limit questions. */
export function SourcesPanel({ workspace, model, onOpen }: SourcesPanelProps) {
  const [name, setName] = useState("");
  const query: Query = { name, tag: "", state: "any", sort: "title" };
  const files = useListing(workspace, query);
  const view = useVirtualRows<HTMLUListElement>(files.total, ROW_PIXELS, files.show);
  const ticked = chosenSources.value;
  const known = Object.entries(files.counts).filter(([name]) => name !== "attention");
  const all = known.reduce((sum, [, n]) => sum + n, 0);
  const attention = files.counts.attention ?? 0;
  const row = (index: number) => {
    const entry = files.at(index);
    return entry ? (
      <SourceRow key={entry.uri} workspace={workspace} entry={entry} onOpen={onOpen} />
    ) : (
      <li key={index} class="row source-row" style={{ height: `${ROW_PIXELS}px` }} />
    );
  };
  return (
    <section class="sources-panel ask-sources beside" aria-labelledby="sources-title">
      <header class="row between">
        <h2 id="sources-title">
          <a class="name" href={addressOf(workspace, "library")}>
            {t("Sources")}
          </a>{" "}
          <span class="muted number">{count(all)}</span>
        </h2>
        {mayWrite.value && <FileButton icon="plus" label={t("Add")} onChoose={addFiles} />}
      </header>
      <CurrentJob />
      {model !== undefined && <Unfinished class="small" model={model} />}
      {attention > 0 && (
        <a
          class="row small warn-text"
          href={addressOf(workspace, "library", { state: "attention" })}
        >
          <Icon name="warning" size={14} />
          {t("{n} {n:file needs|files need} attention", { n: attention })}
        </a>
      )}
      {ticked.size > 0 && (
        <p class="row between small">
          <span>{t("Questions use {n} {n:file|files}", { n: ticked.size })}</span>
          <Button kind="link" label={t("Use all")} onClick={() => set(chosenSources, new Map())} />
        </p>
      )}
      {all > FEW && (
        <SearchField label={t("Find by title or file name")} text={name} onText={setName} />
      )}
      <Pending of={files.loaded} lines={4} />
      {files.loaded.data && files.total === 0 && <p class="small muted">{t("No files")}</p>}
      {files.total > 0 && (
        <ul class="virtual" ref={view.box} onScroll={view.onScroll} aria-label={t("Sources")}>
          <li aria-hidden="true" style={{ height: `${view.before}px` }} />
          {numbersBetween(view.first, view.end).map(row)}
          <li aria-hidden="true" style={{ height: `${view.after}px` }} />
        </ul>
      )}
      <FolderList />
    </section>
  );
}

function SourceRow({ workspace, entry, onOpen }: SourceRowProps & { entry: Entry }) {
  const title = titleOf(entry);
  const isText = entry.chunks > 0;
  return (
    <li class="row source-row" style={{ height: `${ROW_PIXELS}px` }}>
      <input
        type="checkbox"
        aria-label={t("Limit questions to {name}", { name: title })}
        disabled={!isText}
        checked={chosenSources.value.has(entry.id)}
        onChange={(event) => chooseSources([entry], event.currentTarget.checked)}
      />
      <FileTitle
        entry={entry}
        href={isText ? addressOf(workspace, "documents", { doc: entry.id }) : ""}
        onClick={(event) => onOpen(event, entry.id)}
      />
      <FileState entry={entry} isShort />
    </li>
  );
}
