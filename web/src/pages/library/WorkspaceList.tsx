import { AskingButton } from "../../components/Dialog";
import { Card } from "../../components/Section";
import { type Texts, t, textOf } from "../../i18n";
import { announce } from "../../state/announcements";
import { addressOf, go, NEW, workspace } from "../../state/location";
import { mayAdminister, removeWorkspace, type Workspace, workspaces } from "../../state/workspaces";

const ROLES: Texts = { read: "read-only", write: "read and write" };

/** All workspaces: open one, begin one, remove one. */
export function WorkspaceList() {
  return (
    <Card
      title={t("Workspaces")}
      side={mayAdminister.value && <a href={NEW}>{t("New workspace")}</a>}
    >
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
              <AskingButton
                kind="icon"
                icon="delete"
                label={t("Delete {name}", { name: known.title })}
                action={t("Delete permanently")}
                onConfirm={() => remove(known)}
              >
                <p>
                  {t(
                    "This deletes its index, its uploaded files and its jobs. Other files are not changed. This cannot be undone.",
                  )}
                </p>
              </AskingButton>
            ) : (
              <span class="tag">{textOf(ROLES, known.role)}</span>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

async function remove({ name, title }: Workspace): Promise<void> {
  await removeWorkspace(name);
  announce(t("Workspace {name} was deleted.", { name: title }));
  if (name === workspace.value) go("/ui/", { replace: true });
}
