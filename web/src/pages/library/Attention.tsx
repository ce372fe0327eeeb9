import { Button } from "../../components/Button";
import { Pending } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { Card } from "../../components/Section";
import { count, type Texts, t } from "../../i18n";
import { say } from "../../i18n/say";
import { setQuery, workspace } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { FileButton } from "./FileButton";
import { dismiss, RemoveButton, readAgain, replaceFile } from "./fileActions";
import { type Entry, fileName, listAll, type Query, useListing } from "./listing";

/** Why a file was not read, by the code of the server, and what helps. */
const REASONS: Readonly<Record<string, readonly [Texts[string], Texts[string]?]>> = {
  crashed: [
    "crashed the reader",
    "Save it again in its original program, or save it as PDF or text.",
  ],
  killed: ["stopped the server", "Split it, or save it in another format."],
  too_slow: ["takes too long", "Split it, or raise index.max_file_seconds in the settings."],
  out_of_memory: [
    "needs too much memory",
    "Split it, or raise index.max_file_memory_mb in the settings.",
  ],
  id_collision: ["name conflict", "Rename it, then upload it again."],
  no_text: ["has no text", "A scan needs text recognition (OCR) first."],
  not_a_file: ["not a file"],
  too_large: ["too large", "Split it, or raise index.max_file_mb in the settings."],
  binary: ["not text", "Convert it to text, PDF or an office format."],
  broken: ["damaged", "Open and save it in its original program, then upload it again."],
  encoding: ["unknown encoding", "Save it as UTF-8."],
  name: ["invalid name", "Rename it, then upload it again."],
  unreadable: ["not readable", "Check that the server has permission to read the file."],
  unsupported: ["unsupported format", "Convert it to text, PDF or an office format."],
  password: ["password-protected", "Save a copy without a password."],
  empty: ["empty", "The file has nothing to index."],
  fault: ["internal error", "Save it in another format. The server log has the details."],
  missing: ["missing", "Upload it again, or remove it."],
};

const SHOWN = 20;
const QUERY: Query = { name: "", tag: "", state: "attention", sort: "-changed" };

/** Files that were refused or could not be read: why, and what can be done with each. */
export function Attention() {
  const files = useListing(workspace.value, QUERY);
  if (files.loaded.error) return <Pending of={files.loaded} />;
  if (files.total === 0) return null;
  const shown = Math.min(files.total, SHOWN);
  return (
    <Card
      title={
        <>
          {t("Needs attention")} <span class="tag warn">{count(files.total)}</span>
        </>
      }
      side={
        mayWrite.value &&
        files.total > 1 && (
          <Button
            label={t("Dismiss all")}
            kind="quiet"
            onClick={async () => dismiss(await listAll(workspace.value, QUERY))}
          />
        )
      }
    >
      <ul class="ruled">
        {Array.from({ length: shown }, (_, index) => {
          const entry = files.at(index);
          return entry && <Trouble key={entry.uri} entry={entry} />;
        })}
      </ul>
      {files.total > shown && (
        <Button
          label={t("Show all {n}", { n: files.total })}
          kind="quiet"
          onClick={() => setQuery({ state: "attention" })}
        />
      )}
    </Card>
  );
}

function Trouble({ entry }: { entry: Entry }) {
  const [reason, advice] = REASONS[entry.error_reason] ?? [];
  const help = advice ? t(advice) : say(entry.fix);
  return (
    <li class="row wrap top trouble">
      <span class="warn-text">
        <Icon name={entry.state === "refused" ? "bad" : "warning"} />
      </span>
      <div class="grow">
        <p class="break">
          <strong>{fileName(entry)}</strong>{" "}
          <span class="tag warn">{reason ? t(reason) : entry.error_reason}</span>
        </p>
        <p class="small muted break">
          {say(entry.error)} {entry.chunks > 0 && t("Its earlier content can still be searched.")}
        </p>
        {help && <p class="small">{help}</p>}
      </div>
      {mayWrite.value && (
        <div class="row wrap">
          {/* Only an upload can be replaced: other files are where they were indexed. */}
          {entry.uploaded && (
            <FileButton
              of="file"
              icon="upload"
              label={t("Replace file")}
              onChoose={async ([chosen]) => chosen && replaceFile(entry, chosen.file)}
            />
          )}
          {entry.retry && (
            <Button
              label={t("Try again")}
              kind="quiet"
              icon="refresh"
              onClick={() => readAgain([entry])}
            />
          )}
          <Button label={t("Dismiss")} kind="quiet" onClick={() => dismiss([entry])} />
          {entry.state !== "refused" && <RemoveButton entries={[entry]} kind="quiet" />}
        </div>
      )}
    </li>
  );
}
