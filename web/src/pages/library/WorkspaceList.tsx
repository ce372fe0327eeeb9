import { useState } from "preact/hooks";
import { IconButton } from "../../components/Button";
import { Confirm } from "../../components/Dialog";
import { t } from "../../i18n";
import { announce } from "../../state/announcements";
import { addressOf, go, NEW, workspace } from "../../state/location";
import { mayAdminister, removeWorkspace, type Workspace, workspaces } from "../../state/workspaces";

/** All workspaces: open one, begin one, remove one. */
export function WorkspaceList() {
  const words = t.value.library;
  const [leaving, setLeaving] = useState<Workspace | null>(null);
  return (
    <section class="card" aria-labelledby="workspaces-title">
      <div class="card-head">
        <h2 id="workspaces-title">{words.workspaces}</h2>
        {mayAdminister.value && <a href={NEW}>{t.value.shell.newWorkspace}</a>}
      </div>
      <ul class="ruled">
        {(workspaces.value ?? []).map((known) => (
          <li key={known.name} class="row">
            <a
              class="grow clip name"
              href={addressOf(known.name, "library")}
              title={known.name}
              aria-current={known.name === workspace.value ? "true" : undefined}
            >
              {known.title}
            </a>
            {known.role === "admin" ? (
              <IconButton
                icon="delete"
                label={words.removeWorkspace(known.title)}
                onClick={() => setLeaving(known)}
              />
            ) : (
              <span class="tag">{words.roles[known.role] ?? known.role}</span>
            )}
          </li>
        ))}
      </ul>
      {leaving && (
        <Confirm
          title={words.removeWorkspace(leaving.title)}
          action={words.removeForGood}
          onClose={() => setLeaving(null)}
          onConfirm={() => remove(leaving)}
        >
          <p>{words.removeWarning}</p>
        </Confirm>
      )}
    </section>
  );
}

async function remove({ name, title }: Workspace): Promise<void> {
  await removeWorkspace(name);
  announce(t.value.library.removed(title));
  if (name === workspace.value) go("/ui/", { replace: true });
}
