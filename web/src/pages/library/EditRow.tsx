import { useState } from "preact/hooks";
import { Button, Failures } from "../../components/Button";
import { tellError } from "../../components/ErrorState";
import { Form, TextField } from "../../components/Fields";
import { type Texts, t, textOf } from "../../i18n";
import { call } from "../../state/calls";
import { noteChange } from "../../state/workspaces";
import { COLUMNS, type Entry, fileName } from "./listing";

const HINTS: Texts = { date: "2024-05-31", tags: "pay, travel" };

const FIELDS = ["title", "date", "author", "tags"] as const;
type Values = Record<(typeof FIELDS)[number], string>;

/** The metadata of a document in fields, over its row. Enter saves, Escape leaves. */
export function EditRow({ entry, onEnd }: { entry: Entry; onEnd: () => void }) {
  const before: Values = {
    title: entry.title,
    date: entry.date,
    author: entry.author,
    tags: entry.tags.join(", "),
  };
  const [values, setValues] = useState(before);
  const [error, setError] = useState<unknown>(null);
  const save = async (body: Record<string, string | string[] | null>) => {
    await call("patch", "/documents/{document}", { document: entry.id, body });
    noteChange();
    onEnd();
  };
  const changed = () => {
    const names = FIELDS.filter((name) => values[name].trim() !== before[name]);
    return Object.fromEntries(names.map((name) => [name, written(name, values[name])]));
  };
  return (
    <Failures.Provider value={setError}>
      <Form
        ref={focusFirst}
        class="raised edit-row"
        aria-label={t("Edit details of {name}", { name: entry.title || fileName(entry) })}
        onSend={() => save(changed())}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          onEnd();
        }}
      >
        {FIELDS.map((name) => (
          <TextField
            key={name}
            label={t(COLUMNS[name][0])}
            value={values[name]}
            maxLength={500}
            placeholder={textOf(HINTS, name, "")}
            onInput={(text) => setValues({ ...values, [name]: text })}
          />
        ))}
        {error !== null && (
          <p class="small warn-text" role="alert">
            {tellError(error)}
          </p>
        )}
        <div class="row wrap end">
          <Button
            label={t("Use the file's own details")}
            kind="quiet"
            onClick={() => save(Object.fromEntries(FIELDS.map((name) => [name, null])))}
          />
          <Button label={t("Cancel")} kind="quiet" onClick={onEnd} />
          <Button label={t("Save")} kind="main" type="submit" />
        </div>
      </Form>
    </Failures.Provider>
  );
}

const focusFirst = (form: HTMLFormElement | null) => form?.querySelector("input")?.focus();

function written(name: string, value: string): string | string[] {
  if (name !== "tags") return value.trim();
  return value
    .split(/[,;，；、]/)
    .map((tag) => tag.trim())
    .filter(Boolean);
}
