import { signal } from "@preact/signals";
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { Confirm, Dialog } from "../../components/Dialog";
import { Pending } from "../../components/ErrorState";
import { Check, TextField } from "../../components/Fields";
import { sayType, TYPE_NAMES } from "../../components/graph/types";
import { Menu, MenuList } from "../../components/Menu";
import { nameOf } from "../../components/reader/document";
import { Field, optionsOf } from "../../components/Select";
import { moment, t } from "../../i18n";
import { say } from "../../i18n/say";
import { announce } from "../../state/announcements";
import { call, useCall } from "../../state/calls";
import { set } from "../../state/set";
import { mayWrite, noteChange } from "../../state/workspaces";
import { ask } from "./asked";
import { Search } from "./Search";
import { sayRelation } from "./words";

const FIELDS = { name: "Name", type: "Type", relation: "Relation, such as “works for”" } as const;

type Details = Shapes["EntityDetails"];
type Correction = Shapes["CorrectionShape"];
type Values = Record<"name" | "type" | "relation" | "other", string> & { documents: string[] };
/** What each correction is called, and what its dialog asks; entities are given by their ids. */
const KINDS = {
  rename: { label: "Rename", title: "Rename {name}", asks: ["name"] },
  merge: { label: "Merge with…", title: "Merge {name} with another entity", asks: ["other"] },
  split: { label: "Split…", title: "Split a name off {name}", asks: ["other"] },
  divide: {
    label: "Split meanings…",
    title: "Another meaning of {name}",
    asks: ["name", "documents"],
  },
  retype: { label: "Change type", title: "Change the type of {name}", asks: ["type"] },
  hide: { label: "Hide" },
  add_relation: {
    label: "Add relation",
    title: "Add a relation of {name}",
    asks: ["relation", "other"],
  },
  pin: { label: "Pin" },
  remove_relation: { label: "Remove relation" },
} as const;
type Kind = keyof typeof KINDS;
/** Those that ask in a dialog. */
type Asked = Exclude<Kind, "hide" | "pin" | "remove_relation">;

/** Whether the list of corrections is open. */
export const isListOpen = signal(false);

/** Make a correction, and show the graph as it is then. Throws ApiError. */
export async function correct(
  kind: Kind,
  entity: string,
  values: Partial<Values> = {},
): Promise<void> {
  const body = {
    kind,
    entity,
    name: "",
    type: "",
    relation: "",
    other: "",
    documents: [],
    ...values,
  };
  await call("post", "/corrections", { body });
  noteChange();
  announce(t("Correction saved."));
  if (kind === "hide") ask({ focus: null });
}

async function undo({ id, kind }: Correction): Promise<void> {
  await call("delete", "/corrections/{correction}", { correction: id });
  if (kind === "divide") ask({ focus: null });
  noteChange();
  announce(t("Correction undone."));
}

/** The corrections of one entity. */
export function CorrectionMenu({ entity }: { entity: Details }) {
  const [kind, setKind] = useState<Asked | null>(null);
  if (!mayWrite.value) return null;
  const offered = (Object.keys(KINDS) as Kind[]).filter(
    (name) =>
      name !== "remove_relation" &&
      (name !== "split" || entity.names.length > 0) &&
      (name !== "divide" || entity.sources_total > 1),
  );
  return (
    <>
      <Menu
        label={t("Correct")}
        side="right"
        content={(close) => (
          <MenuList
            close={close}
            items={[
              ...offered.map((name) => {
                const isAsked = "asks" in KINDS[name];
                const run = () => (isAsked ? setKind(name as Asked) : correct(name, entity.id));
                return { label: t(KINDS[name].label), run };
              }),
              { label: t("Corrections"), run: () => set(isListOpen, true), isRuled: true },
            ]}
          />
        )}
      >
        <span>{t("Correct")}</span>
      </Menu>
      {kind && <CorrectionDialog kind={kind} entity={entity} onClose={() => setKind(null)} />}
    </>
  );
}

interface CorrectionDialogProps {
  kind: Asked;
  entity: Details;
  onClose: () => void;
}

function CorrectionDialog({ kind, entity, onClose }: CorrectionDialogProps) {
  const [values, setValues] = useState<Values>({
    name: kind === "rename" ? entity.name : "",
    type: entity.type,
    relation: "",
    other: (kind === "split" && entity.names[0]) || "",
    documents: [],
  });
  const { label, title, asks } = KINDS[kind];
  const wanted = { entity: entity.id, query: { relations: 0, sources: 50 } };
  const found = useCall("get", "/graph/entities/{entity}", kind === "divide" ? wanted : null);
  const { sources, sources_total: total } = found.data ?? entity;
  const titles = new Map(sources.map(({ document, title }) => [document, title || document]));
  const { documents } = values;
  const isAll = sources.length === total && documents.length === titles.size;
  const given = Object.fromEntries(asks.map((field) => [field, values[field]]));
  const set = (field: keyof Values) => (value: string | string[]) =>
    setValues({ ...values, [field]: value });
  const line = (field: keyof typeof FIELDS, list = "") => (
    <TextField
      label={t(FIELDS[field])}
      value={values[field]}
      {...(list && { list })}
      onInput={set(field)}
    />
  );
  const fields = {
    name: () => line("name"),
    relation: () => line("relation"),
    type: () => (
      <>
        {line("type", "entity-types")}
        <datalist id="entity-types">{optionsOf(Object.keys(TYPE_NAMES), sayType)}</datalist>
      </>
    ),
    other: () =>
      kind === "split" ? (
        <Field label={t("Name of the other entity")}>
          <select
            value={values.other}
            onChange={(event) => set("other")(event.currentTarget.value)}
          >
            {optionsOf(entity.names, (name) => name)}
          </select>
        </Field>
      ) : (
        <Search label={t("Other entity")} onChoose={set("other")} />
      ),
    documents: () => (
      <fieldset class="field">
        <legend>{t("Documents that mean this")}</legend>
        {[...titles].map(([uri, title]) => (
          <Check
            key={uri}
            label={title}
            isOn={documents.includes(uri)}
            onChange={(isOn) =>
              set("documents")(
                isOn ? [...documents, uri] : documents.filter((each) => each !== uri),
              )
            }
          />
        ))}
        {isAll && (
          <p class="small warn-text" role="status">
            {t(
              "At least one document must keep the first meaning of {name}. To change the name in all of them, use Rename.",
              { name: entity.name },
            )}
          </p>
        )}
      </fieldset>
    ),
  };
  const isGiven = Object.values(given).every((value) => value.length && String(value).trim());
  return (
    <Confirm
      class="narrow"
      title={t(title, { name: entity.name })}
      action={t(label).replace("…", "")}
      kind="main"
      isReady={isGiven && !(kind === "divide" && isAll)}
      onConfirm={() => correct(kind, entity.id, given)}
      onClose={onClose}
    >
      {asks.map((field) => (
        <Fragment key={field}>{fields[field]()}</Fragment>
      ))}
      <p class="small muted">
        {t("Corrections stay when documents are indexed again. You can undo them.")}
      </p>
    </Confirm>
  );
}

/** All corrections, the newest first, each with a way to undo it. */
export function CorrectionList() {
  const found = useCall("get", "/corrections", {});
  const corrections = found.data?.corrections ?? [];
  return (
    <Dialog title={t("Corrections")} onClose={() => set(isListOpen, false)}>
      <Pending of={found} />
      {found.data && corrections.length === 0 && <p class="muted">{t("No corrections yet.")}</p>}
      <ul class="corrections stack tight">
        {corrections.map((correction) => (
          <li key={correction.id} class="row between">
            <span>
              {tell(correction)}
              <span class="small faint">
                {" "}
                {[correction.author, moment(correction.made)].filter(Boolean).join(" · ")}
              </span>
              {!correction.applied && <span class="small warn-text"> {say(correction.note)}</span>}
            </span>
            {mayWrite.value && <Button label={t("Undo")} onClick={() => undo(correction)} />}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function tell(correction: Correction): string {
  const { kind, entity, other, relation, name, type, documents } = correction;
  const relates = [entity, sayRelation(relation), other].join(" ");
  const what: Record<string, string> = {
    rename: `${entity} → ${name}`,
    merge: `${entity} + ${other}`,
    split: `${entity} | ${other}`,
    divide: `${entity} | ${name} (${documents.map(nameOf).join(", ")})`,
    retype: `${entity}: ${sayType(type)}`,
    add_relation: relates,
    remove_relation: relates,
  };
  return `${t(KINDS[kind as Kind].label).replace("…", "")}: ${what[kind] ?? entity}`;
}
