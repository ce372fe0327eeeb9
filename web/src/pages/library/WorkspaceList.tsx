import { useEffect, useRef, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button, IconButton } from "../../components/Button";
import { Confirm } from "../../components/Dialog";
import { ErrorState } from "../../components/ErrorState";
import { t } from "../../i18n";
import { announce } from "../../state/announcements";
import { addressOf, asked, go, setQuery, workspace } from "../../state/location";
import { loadWorkspaces, type Workspace, workspaces } from "../../state/workspaces";

/** All workspaces: open one, make one, remove one. */
export function WorkspaceList() {
  const words = t.value.library;
  const [leaving, setLeaving] = useState("");
  const known = workspaces.value ?? [];
  return (
    <section class="card" aria-labelledby="workspaces-title">
      <div class="card-head">
        <h2 id="workspaces-title">{words.workspaces}</h2>
      </div>
      <ul class="workspace-list">
        {known.map(({ name, role }) => (
          <li key={name}>
            <a
              class="grow clip"
              href={addressOf(name, "library")}
              title={name}
              aria-current={name === workspace.value ? "true" : undefined}
            >
              {name}
            </a>
            {role !== "admin" && <span class="tag">{words.roles[role] ?? role}</span>}
            {role === "admin" && (
              <IconButton
                icon="delete"
                label={words.removeWorkspace(name)}
                onClick={() => setLeaving(name)}
              />
            )}
          </li>
        ))}
      </ul>
      {(known.length === 0 || known.some(({ role }) => role === "admin")) && (
        <NewWorkspace known={known} />
      )}
      {leaving && (
        <Confirm
          title={words.removeWorkspace(leaving)}
          action={words.removeForGood}
          onClose={() => setLeaving("")}
          onConfirm={() => remove(leaving)}
        >
          <p>{words.removeWarning}</p>
        </Confirm>
      )}
    </section>
  );
}

function NewWorkspace({ known }: { known: readonly Workspace[] }) {
  const words = t.value.library;
  const [name, setName] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [isMaking, setMaking] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const wanted = asked("manage");
  useEffect(() => {
    if (!wanted) return;
    field.current?.focus();
    setQuery({ manage: null }, { replace: true });
  }, [wanted]);
  const make = async () => {
    setMaking(true);
    setError(null);
    try {
      await take(api.POST("/api/v1/workspaces", { body: { name: name.trim() } }));
      await loadWorkspaces();
      setName("");
      go(addressOf(name.trim(), "library"));
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    } finally {
      setMaking(false);
    }
  };
  return (
    <form
      class="stack tight"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim()) void make();
      }}
    >
      <div class="row">
        <input
          ref={field}
          type="text"
          aria-label={words.newWorkspace}
          placeholder={known.length ? words.newWorkspace : words.firstWorkspace}
          maxLength={64}
          spellcheck={false}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <Button type="submit" icon="plus" busy={isMaking} disabled={!name.trim()}>
          {words.make}
        </Button>
      </div>
      {error && <ErrorState error={error} />}
    </form>
  );
}

async function remove(name: string): Promise<void> {
  const params = { path: { workspace: name } };
  await take(api.DELETE("/api/v1/workspaces/{workspace}", { params }));
  await loadWorkspaces();
  announce(t.value.library.removed(name));
  if (name === workspace.value) go("/ui/", { replace: true });
}
