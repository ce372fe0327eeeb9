import { Button } from "../../components/Button";
import { AskingButton } from "../../components/Dialog";
import { type Contents, type Details, nameOf } from "../../components/reader/document";
import { count, t } from "../../i18n";
import { announce } from "../../state/announcements";
import { call } from "../../state/calls";
import { addJob } from "../../state/jobs";
import { useShortcuts } from "../../state/keys";
import { go, linkTo, setQuery } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { Fate } from "../library/fileActions";

interface ActionsProps {
  details: Details;
  contents: Contents | null;
  isUnderlined: boolean;
}

/** What can be done with a document. */
export function Actions({ details, contents, isUnderlined }: ActionsProps) {
  const underline = () => setQuery({ things: isUnderlined ? null : 1 }, { replace: true });
  useShortcuts([{ keys: "u", label: t("Highlight entities"), run: underline }]);
  return (
    <>
      <Button
        label={t("Highlight entities")}
        icon="underline"
        pressed={isUnderlined}
        onClick={underline}
      />
      {mayWrite.value && (
        <>
          <Button label={t("Reindex")} icon="refresh" onClick={() => lookAgain(details.uri)} />
          <AskingButton
            label={t("Remove")}
            icon="delete"
            title={t("Remove {name}?", { name: details.title || nameOf(details.uri) })}
            onConfirm={() => remove(details.id)}
          >
            <Preview details={details} contents={contents} />
          </AskingButton>
        </>
      )}
    </>
  );
}

const NAMED = 12;

/** What would vanish with a document, and what would stay. */
function Preview({ details, contents }: { details: Details; contents: Contents | null }) {
  const passages = details.chunks.filter((chunk) => !chunk.is_parent).length;
  const gone = contents?.things.filter((thing) => thing.only_here) ?? [];
  const relations = contents?.relations.filter((relation) => relation.only_here) ?? [];
  const staying = (contents?.things.length ?? 0) - gone.length;
  return (
    <div class="stack tight">
      {contents && (
        <p>
          {t(
            "This removes {passages} passages, and {things} entities and {relations} relations that are in no other document.",
            { passages, things: gone.length, relations: relations.length },
          )}
        </p>
      )}
      {gone.length > 0 && (
        <p class="row wrap">
          {gone.slice(0, NAMED).map((thing) => (
            <span key={thing.id} class="tag">
              {thing.name}
            </span>
          ))}
          {gone.length > NAMED && <span class="small faint">+{count(gone.length - NAMED)}</span>}
        </p>
      )}
      {staying > 0 && (
        <p class="muted">
          {t("{things} entities remain, because other documents mention them.", {
            things: staying,
          })}
        </p>
      )}
      <Fate isUpload={details.uri.startsWith("uploads/")} />
    </div>
  );
}

async function lookAgain(uri: string): Promise<void> {
  const body = { documents: [uri], budget: "" };
  addJob(await call("post", "/documents/reindex", { body }));
  announce(t("Reindexing the file."));
}

async function remove(document: string): Promise<void> {
  addJob(await call("delete", "/documents/{document}", { document }));
  announce(t("Removing…"));
  go(linkTo("library"));
}
