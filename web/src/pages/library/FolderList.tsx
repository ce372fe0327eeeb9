import type { Shapes } from "../../api/client";
import { IconButton } from "../../components/Button";
import { AskingButton } from "../../components/Dialog";
import { Section } from "../../components/Section";
import { type Texts, t, textOf } from "../../i18n";
import { call, useCall } from "../../state/calls";
import { addJob, type Job } from "../../state/jobs";
import { mayWrite, revision } from "../../state/workspaces";

type Folder = Shapes["ServerFolderShape"];

/** Why a folder is not kept in step, by the code of the server. */
const PROBLEMS: Texts = {
  missing: "Not there now",
  unreadable: "Cannot be read now",
  not_allowed: "No longer allowed, so not updated",
};

/** The folders of the server whose files are sources, and those that may be. */
export function FolderList() {
  const folders = useCall("get", "/folders", mayWrite.value ? {} : null, { keepsOld: true });
  if (!folders.data?.length) return null;
  return (
    <Section title={t("Folders of the server")} class="folder-list">
      <ul class="stack tight">
        {folders.data.map((folder) => (
          <FolderRow key={`${folder.name} ${folder.fixed}`} folder={folder} />
        ))}
      </ul>
    </Section>
  );
}

function FolderRow({ folder: { name, followed, fixed, problem } }: { folder: Folder }) {
  const take = async (changed: Promise<Job>) => {
    addJob(await changed);
    revision.value += 1;
  };
  const note = problem
    ? textOf(PROBLEMS, problem)
    : followed && t("Changes are added within seconds");
  return (
    <li class="row between">
      <div class="grow">
        {name}
        {note && <p class={`small ${problem ? "warn-text" : "muted"}`}>{note}</p>}
      </div>
      {!followed && (
        <IconButton
          icon="plus"
          label={t("Add the folder {name}", { name })}
          onClick={() => take(call("post", "/folders", { body: { name } }))}
        />
      )}
      {followed && !fixed && (
        <AskingButton
          kind="icon"
          icon="delete"
          label={t("Remove the folder {name}", { name })}
          title={t("Remove the folder {name}?", { name })}
          action={t("Remove")}
          onConfirm={() => take(call("delete", "/folders/{name}", { name }))}
        >
          <p>{t("Its documents are removed here. Its files stay on the server.")}</p>
        </AskingButton>
      )}
    </li>
  );
}
