import { useState } from "preact/hooks";
import { IconButton } from "../../components/Button";
import { Confirm } from "../../components/Dialog";
import { type Texts, t, textOf } from "../../i18n";
import { announce } from "../../state/announcements";
import { addressOf, go, NEW, workspace } from "../../state/location";
import { mayAdminister, removeWorkspace, type Workspace, workspaces } from "../../state/workspaces";

const ROLES: Texts = { read: "read-only", write: "read and write" };

/** All workspaces: open one, begin one, remove one. */
export function WorkspaceList() {
  const [leaving, setLeaving] = useState<Workspace | null>(null);
  return (
    <section class="card" aria-labelledby="workspaces-title">
      <div class="card-head">
        <h2 id="workspaces-title">{t("Workspaces")}</h2>
        {mayAdminister.value && <a href={NEW}>{t("New workspace")}</a>}
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
                label={t("Delete {name}", { name: known.title })}
                onClick={() => setLeaving(known)}
              />
            ) : (
              <span class="tag">{textOf(ROLES, known.role)}</span>
            )}
          </li>
        ))}
      </ul>
      {leaving && (
        <Confirm
          title={t("Delete {name}", { name: leaving.title })}
          action={t("Delete permanently")}
          onClose={() => setLeaving(null)}
          onConfirm={() => remove(leaving)}
        >
          <p>
            {t(
              "This deletes its index, its uploaded files and its jobs. Other files are not changed. This cannot be undone.",
            )}
          </p>
        </Confirm>
      )}
    </section>
  );
}

async function remove({ name, title }: Workspace): Promise<void> {
  await removeWorkspace(name);
  announce(t("Workspace {name} was deleted.", { name: title }));
  if (name === workspace.value) go("/ui/", { replace: true });
}
