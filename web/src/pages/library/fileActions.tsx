import { api, take } from "../../api/client";
import { Confirm } from "../../components/Dialog";
import { t } from "../../i18n";
import { addJob } from "../../state/jobs";
import { workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { sendFiles } from "./files";
import { type Entry, fileName } from "./listing";

const MOST_NAMED = 1_000;

const path = () => ({ params: { path: { workspace: workspace.value } } });

/** Call for the URIs of files, as many at a time as a request takes. */
async function inParts(
  files: readonly Pick<Entry, "uri">[],
  call: (documents: string[]) => Promise<unknown>,
): Promise<void> {
  for (let start = 0; start < files.length; start += MOST_NAMED)
    await call(files.slice(start, start + MOST_NAMED).map(({ uri }) => uri));
}

/** Have files read again, also those that no job has read yet. */
export async function readAgain(files: readonly Entry[]): Promise<void> {
  const known = files.filter(({ state }) => state === "ready" || state === "failed");
  const body = { budget: "" };
  await inParts(known, async (documents) => {
    const asked = { ...path(), body: { ...body, documents } };
    addJob(await take(api.POST("/api/v1/workspaces/{workspace}/documents/reindex", asked)));
  });
  if (known.length < files.length) {
    const asked = { ...path(), body: { ...body, retry: false } };
    addJob(await take(api.POST("/api/v1/workspaces/{workspace}/index", asked)));
  }
}

/** Take files out of those that need attention. */
export async function dismiss(files: readonly Pick<Entry, "uri">[]): Promise<void> {
  await inParts(files, (documents) => {
    const asked = { ...path(), body: { documents } };
    return take(api.POST("/api/v1/workspaces/{workspace}/documents/dismiss", asked));
  });
  revision.value += 1;
}

/** Remove files; those that were refused are only forgotten. */
export async function removeFiles(files: readonly Entry[]): Promise<void> {
  const refused = files.filter(({ state }) => state === "refused");
  await inParts(
    files.filter(({ state }) => state !== "refused"),
    async (documents) => {
      const asked = { ...path(), body: { documents } };
      addJob(await take(api.POST("/api/v1/workspaces/{workspace}/documents/delete", asked)));
    },
  );
  if (refused.length > 0) await dismiss(refused);
}

/** Send another file in place of one that was not taken; with another suffix, the old one goes. */
export async function replaceFile(old: Entry, file: File): Promise<void> {
  const name = fileName(old);
  const suffix = (of: string) => of.split(".").at(-1)?.toLowerCase() ?? "";
  const isSame = suffix(file.name) === suffix(name) && old.error_reason !== "name";
  const folder = name.slice(0, name.lastIndexOf("/") + 1);
  const chosen = { name: isSame ? name : folder + file.name, file };
  const sent = await sendFiles({
    workspace: workspace.value,
    files: [chosen],
    index: true,
    signal: new AbortController().signal,
    onSent: () => undefined,
  });
  if (!isSame) await removeFiles([old]);
  if (sent.job) addJob(sent.job);
  revision.value += 1;
}

interface RemoveFilesProps {
  entries: readonly Entry[];
  onClose: () => void;
  onDone: () => void;
}

/** Asks before files are removed. */
export function RemoveFiles({ entries, onClose, onDone }: RemoveFilesProps) {
  const words = t.value.library.files;
  const first = entries[0];
  const title =
    entries.length === 1 && first
      ? t.value.documents.removeTitle(first.title || fileName(first))
      : words.removeTitle(entries.length);
  return (
    <Confirm
      title={title}
      action={t.value.common.remove}
      onClose={onClose}
      onConfirm={() => removeFiles(entries).then(onDone)}
    >
      <p>{words.removeNote}</p>
      {entries.some(({ uploaded }) => uploaded) && (
        <p class="muted">{t.value.documents.removeUpload}</p>
      )}
      {entries.some(({ uploaded }) => !uploaded) && (
        <p class="muted">{t.value.documents.removeSource}</p>
      )}
    </Confirm>
  );
}
