import { AskingButton } from "../../components/Dialog";
import { t } from "../../i18n";
import { call } from "../../state/calls";
import { addJob } from "../../state/jobs";
import { workspace } from "../../state/location";
import { noteChange } from "../../state/workspaces";
import { sendFiles } from "./files";
import { type Entry, fileName } from "./listing";

const MOST_NAMED = 1_000;

/** Call for the URIs of files, as many at a time as a request takes. */
async function inParts(
  files: readonly Pick<Entry, "uri">[],
  ask: (documents: string[]) => Promise<unknown>,
): Promise<void> {
  for (let start = 0; start < files.length; start += MOST_NAMED)
    await ask(files.slice(start, start + MOST_NAMED).map(({ uri }) => uri));
}

/** Have files read again, also those that no job has read yet. */
export async function readAgain(files: readonly Entry[]): Promise<void> {
  const known = files.filter(({ state }) => state === "ready" || state === "failed");
  await inParts(known, async (documents) =>
    addJob(await call("post", "/documents/reindex", { body: { budget: "", documents } })),
  );
  if (known.length < files.length)
    addJob(await call("post", "/index", { body: { budget: "", retry: false } }));
}

/** Take files out of those that need attention. */
export async function dismiss(files: readonly Pick<Entry, "uri">[]): Promise<void> {
  await inParts(files, (documents) => call("post", "/documents/dismiss", { body: { documents } }));
  noteChange();
}

/** Remove files; those that were refused are only forgotten. */
export async function removeFiles(files: readonly Entry[]): Promise<void> {
  const refused = files.filter(({ state }) => state === "refused");
  await inParts(
    files.filter(({ state }) => state !== "refused"),
    async (documents) => addJob(await call("post", "/documents/delete", { body: { documents } })),
  );
  if (refused.length > 0) await dismiss(refused);
}

/** Send another file in place of one that was not taken; with another suffix, the old one goes. */
export async function replaceFile(old: Entry, file: File): Promise<void> {
  const name = fileName(old);
  const suffix = (of: string) => of.split(".").at(-1)?.toLowerCase() ?? "";
  const isSame = suffix(file.name) === suffix(name) && old.error_reason !== "name";
  const folder = name.slice(0, name.lastIndexOf("/") + 1);
  const sent = await sendFiles({
    workspace: workspace.value,
    files: [{ name: isSame ? name : folder + file.name, file }],
    index: true,
    signal: new AbortController().signal,
    onSent: () => undefined,
  });
  if (!isSame) await removeFiles([old]);
  if (sent.job) addJob(sent.job);
  noteChange();
}

interface RemoveButtonProps {
  entries: readonly Entry[];
  kind: "quiet" | "danger";
  onDone?: () => void;
}

/** A button to remove files, which asks before. */
export function RemoveButton({ entries, kind, onDone }: RemoveButtonProps) {
  const [first] = entries;
  return (
    <AskingButton
      label={t("Remove")}
      icon="delete"
      kind={kind}
      title={
        entries.length === 1 && first
          ? t("Remove {name}?", { name: first.title || fileName(first) })
          : t("Remove {n} {n:file|files}?", { n: entries.length })
      }
      onConfirm={() => removeFiles(entries).then(onDone)}
    >
      <p>{t("Their passages, and what only they say in the graph, are removed.")}</p>
      {[true, false]
        .filter((wanted) => entries.some(({ uploaded }) => uploaded === wanted))
        .map((isUpload) => (
          <Fate key={`${isUpload}`} isUpload={isUpload} />
        ))}
    </AskingButton>
  );
}

/** What becomes of a file whose document is removed. */
export function Fate({ isUpload }: { isUpload: boolean }) {
  return (
    <p class="muted">
      {isUpload
        ? t("The uploaded file is deleted.")
        : t(
            "The file itself is not deleted. If its folder is indexed again, the document returns.",
          )}
    </p>
  );
}
