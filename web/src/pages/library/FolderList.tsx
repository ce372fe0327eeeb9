import { useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { IconButton } from "../../components/Button";
import { Confirm } from "../../components/Dialog";
import { Section } from "../../components/Section";
import { t } from "../../i18n";
import { call, useCall } from "../../state/calls";
import { addJob } from "../../state/jobs";
import { mayWrite, revision } from "../../state/workspaces";

type Folder = Shapes["ServerFolderShape"];

/** The folders of the server whose files are sources, and those that may be. */
export function FolderList() {
  const folders = useCall("get", "/folders", mayWrite.value ? {} : null, { keepsOld: true });
  if (!folders.data?.length) return null;
  return (
    <Section title={t.value.library.folders.title} class="folder-list">
      <ul class="stack tight">
        {folders.data.map((folder) => (
          <FolderRow key={`${folder.name} ${folder.fixed}`} folder={folder} />
        ))}
      </ul>
    </Section>
  );
}

function FolderRow({ folder: { name, followed, fixed, problem } }: { folder: Folder }) {
  const [isAsking, setAsking] = useState(false);
  const words = t.value.library.folders;
  const add = async () => {
    addJob(await call("post", "/folders", { body: { name } }));
    revision.value += 1;
  };
  const remove = async () => {
    addJob(await call("delete", "/folders/{name}", { name }));
    revision.value += 1;
  };
  const note = problem ? words.problems[problem] : followed && words.inStep;
  return (
    <li class="row between">
      <div class="grow">
        {name}
        {note && <p class={`small ${problem ? "warn-text" : "muted"}`}>{note}</p>}
      </div>
      {!followed && <IconButton icon="plus" label={words.add(name)} onClick={add} />}
      {followed && !fixed && (
        <IconButton icon="delete" label={words.remove(name)} onClick={() => setAsking(true)} />
      )}
      {isAsking && (
        <Confirm
          title={words.removeTitle(name)}
          action={t.value.common.remove}
          onClose={() => setAsking(false)}
          onConfirm={remove}
        >
          <p>{words.removeNote}</p>
        </Confirm>
      )}
    </li>
  );
}
