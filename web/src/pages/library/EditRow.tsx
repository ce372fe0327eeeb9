import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { tellError } from "../../components/ErrorState";
import { t } from "../../i18n";
import { workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { type Entry, fileName } from "./listing";

const FIELDS = ["title", "date", "author", "tags"] as const;
type Values = Record<(typeof FIELDS)[number], string>;

/** The metadata of a document in fields, over its row. Enter saves, Escape leaves. */
export function EditRow({ entry, onEnd }: { entry: Entry; onEnd: () => void }) {
  const words = t.value.library.files;
  const before: Values = {
    title: entry.title,
    date: entry.date,
    author: entry.author,
    tags: entry.tags.join(", "),
  };
  const [values, setValues] = useState(before);
  const [error, setError] = useState("");
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector("input")?.focus(), []);
  const save = async (body: Record<string, string | string[] | null>) => {
    const params = { path: { workspace: workspace.value, document: entry.id } };
    try {
      await take(
        api.PATCH("/api/v1/workspaces/{workspace}/documents/{document}", { params, body }),
      );
      revision.value += 1;
      onEnd();
    } catch (failure) {
      setError(tellError(failure));
    }
  };
  const changed = () => {
    const names = FIELDS.filter((name) => values[name].trim() !== before[name]);
    return Object.fromEntries(names.map((name) => [name, written(name, values[name])]));
  };
  return (
    <form
      ref={form}
      class="edit-row"
      aria-label={words.edit(entry.title || fileName(entry))}
      onSubmit={(event) => {
        event.preventDefault();
        void save(changed());
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onEnd();
      }}
    >
      {FIELDS.map((name) => (
        <label key={name} class="field">
          <span>{words.columns[name]}</span>
          <input
            type="text"
            value={values[name]}
            maxLength={500}
            placeholder={words.hints[name] ?? ""}
            onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
      {error && (
        <p class="small warn-text" role="alert">
          {error}
        </p>
      )}
      <div class="row wrap end">
        <Button
          kind="quiet"
          onClick={() => save(Object.fromEntries(FIELDS.map((name) => [name, null])))}
        >
          {words.restore}
        </Button>
        <Button kind="quiet" onClick={onEnd}>
          {t.value.common.cancel}
        </Button>
        <Button kind="main" type="submit">
          {words.save}
        </Button>
      </div>
    </form>
  );
}

function written(name: string, value: string): string | string[] {
  if (name !== "tags") return value.trim();
  return value
    .split(/[,;，；、]/)
    .map((tag) => tag.trim())
    .filter(Boolean);
}
