import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { ErrorState, tellError } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { count, t } from "../../i18n";
import { say } from "../../i18n/say";
import { announce } from "../../state/announcements";
import { setQuery, workspace } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { FileButton } from "./FileButton";
import { dismiss, RemoveButton, readAgain, replaceFile } from "./fileActions";
import { type Entry, fileName, listAll, type Query, useListing } from "./listing";

const SHOWN = 20;
const QUERY: Query = { name: "", tag: "", state: "attention", sort: "-changed" };

/** Files that were refused or could not be read: why, and what can be done with each. */
export function Attention() {
  const words = t.value.library.files;
  const files = useListing(workspace.value, QUERY);
  if (files.error) return <ErrorState error={files.error} retry={files.reload} />;
  if (files.total === 0) return null;
  const shown = Math.min(files.total, SHOWN);
  return (
    <section class="card" aria-labelledby="attention-title">
      <div class="card-head">
        <h2 id="attention-title">
          {words.states.attention} <span class="tag warn">{count(files.total)}</span>
        </h2>
        {mayWrite.value && files.total > 1 && (
          <Button
            label={words.dismissAll}
            kind="quiet"
            onClick={async () => dismiss(await listAll(workspace.value, QUERY))}
          />
        )}
      </div>
      <ul class="ruled">
        {Array.from({ length: shown }, (_, index) => {
          const entry = files.at(index);
          return entry && <Trouble key={entry.uri} entry={entry} />;
        })}
      </ul>
      {files.total > shown && (
        <Button
          label={words.showAll(count(files.total))}
          kind="quiet"
          onClick={() => setQuery({ state: "attention" })}
        />
      )}
    </section>
  );
}

function Trouble({ entry }: { entry: Entry }) {
  const words = t.value.library;
  const advice = words.advice[entry.error_reason] ?? say(entry.fix);
  const reason = words.reasons[entry.error_reason] ?? entry.error_reason;
  return (
    <li class="row wrap top trouble">
      <Icon name={entry.state === "refused" ? "bad" : "warning"} />
      <div class="grow">
        <p class="break">
          <strong>{fileName(entry)}</strong> <span class="tag warn">{reason}</span>
        </p>
        <p class="small muted break">
          {say(entry.error)} {entry.chunks > 0 && words.files.kept}
        </p>
        {advice && <p class="small">{advice}</p>}
      </div>
      {mayWrite.value && (
        <div class="row wrap">
          <Replace entry={entry} />
          {entry.retry && (
            <Button
              label={t.value.common.retry}
              kind="quiet"
              icon="refresh"
              onClick={() => readAgain([entry])}
            />
          )}
          <Button label={words.files.dismiss} kind="quiet" onClick={() => dismiss([entry])} />
          {entry.state !== "refused" && <RemoveButton entries={[entry]} kind="quiet" />}
        </div>
      )}
    </li>
  );
}

/** Only an upload can be replaced: other files are where they were indexed. */
function Replace({ entry }: { entry: Entry }) {
  const [isSending, setSending] = useState(false);
  if (!entry.uploaded) return null;
  const send = (file: File) => {
    setSending(true);
    replaceFile(entry, file)
      .catch((error: unknown) => announce(tellError(error), "bad"))
      .finally(() => setSending(false));
  };
  return (
    <FileButton
      of="file"
      icon="upload"
      busy={isSending}
      label={t.value.library.files.replace}
      onChoose={([chosen]) => chosen && send(chosen.file)}
    />
  );
}
