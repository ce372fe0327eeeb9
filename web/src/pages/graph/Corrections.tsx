import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { Confirm, Dialog } from "../../components/Dialog";
import { Pending } from "../../components/ErrorState";
import { Check, TextField } from "../../components/Fields";
import { sayType, TYPE_NAMES } from "../../components/graph/types";
import { Menu, MenuList } from "../../components/Menu";
import { nameOf } from "../../components/reader/document";
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

const KIND_TITLES = {
  rename: "Rename {name}",
  merge: "Merge {name} with another entity",
  split: "Split a name off {name}",
  divide: "Another meaning of {name}",
  retype: "Change the type of {name}",
  add_relation: "Add a relation of {name}",
} as const;

const KIND_NAMES = {
  rename: "Rename",
  merge: "Merge with…",
  split: "Split…",
  divide: "Split meanings…",
  retype: "Change type",
  hide: "Hide",
  add_relation: "Add relation",
  remove_relation: "Remove relation",
  pin: "Pin",
} as const;

type Details = Shapes["EntityDetails"];
type Correction = Shapes["CorrectionShape"];
type Values = Record<"name" | "type" | "relation" | "other", string> & { documents: string[] };
type Kind = keyof typeof KINDS;
/** Those that ask in a dialog. */
type Asked = keyof typeof KIND_TITLES;

/** What each correction needs to know beside its entity; entities are given by their ids. */
const KINDS = {
  rename: ["name"],
  merge: ["other"],
  split: ["other"],
  divide: ["name", "documents"],
  retype: ["type"],
  hide: [],
  add_relation: ["relation", "other"],
  pin: [],
  remove_relation: ["relation", "other"],
} satisfies Record<string, (keyof Values)[]>;

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
                const isAsked = name in KIND_TITLES;
                const run = () => (isAsked ? setKind(name as Asked) : correct(name, entity.id));
                return { label: t(KIND_NAMES[name]), run };
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
  const { names } = entity;
  const isSplit = kind === "split";
  const [values, setValues] = useState<Values>({
    name: kind === "rename" ? entity.name : "",
    type: entity.type,
    relation: "",
    other: (isSplit && names[0]) || "",
    documents: [],
  });
  const [isAll, setAll] = useState(false);
  const given = Object.fromEntries(KINDS[kind].map((field) => [field, values[field]]));
  const set = (field: keyof Values) => (value: string | string[]) =>
    setValues({ ...values, [field]: value });
  return (
    <Confirm
      class="narrow"
      title={t(KIND_TITLES[kind], { name: entity.name })}
      action={t(KIND_NAMES[kind]).replace("…", "")}
      kind="main"
      isReady={
        !isAll && Object.values(given).every((value) => value.length && String(value).trim())
      }
      onConfirm={() => correct(kind, entity.id, given)}
      onClose={onClose}
    >
      {KINDS[kind].map((field) =>
        field === "documents" ? (
          <Meant
            key={field}
            entity={entity}
            chosen={values.documents}
            onChoose={(documents, isEach) => {
              set(field)(documents);
              setAll(isEach);
            }}
          />
        ) : field !== "other" ? (
          <TextField
            key={field}
            label={t(FIELDS[field])}
            value={values[field]}
            {...(field === "type" ? { list: "entity-types" } : {})}
            onInput={set(field)}
          />
        ) : isSplit ? (
          <label key={field} class="field">
            <span>{t("Name of the other entity")}</span>
            <select
              value={values.other}
              onChange={(event) => set("other")(event.currentTarget.value)}
            >
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        ) : (
          <Search key={field} label={t("Other entity")} onChoose={set("other")} />
        ),
      )}
      <datalist id="entity-types">
        {Object.keys(TYPE_NAMES).map((type) => (
          <option key={type} value={type}>
            {sayType(type)}
          </option>
        ))}
      </datalist>
      <p class="small muted">
        {t("Corrections stay when documents are indexed again. You can undo them.")}
      </p>
    </Confirm>
  );
}

interface MeantProps {
  entity: Details;
  chosen: string[];
  /** Gets the ticked documents, and whether none is left that is not. */
  onChoose: (documents: string[], isEach: boolean) => void;
}

/** The documents that mention an entity: those that are ticked mean the other one. */
function Meant({ entity, chosen, onChoose }: MeantProps) {
  const query = { relations: 0, sources: 50 };
  const found = useCall("get", "/graph/entities/{entity}", { entity: entity.id, query });
  const { sources, sources_total: total } = found.data ?? entity;
  const titles = new Map(sources.map(({ document, title }) => [document, title || document]));
  const isEach = (documents: string[]) =>
    sources.length === total && documents.length === titles.size;
  return (
    <fieldset class="field">
      <legend>{t("Documents that mean this")}</legend>
      {[...titles].map(([uri, title]) => (
        <Check
          key={uri}
          label={title}
          isOn={chosen.includes(uri)}
          onChange={(isOn) => {
            const documents = [...chosen.filter((each) => each !== uri), ...(isOn ? [uri] : [])];
            onChoose(documents, isEach(documents));
          }}
        />
      ))}
      {isEach(chosen) && (
        <p class="small warn-text" role="status">
          {t(
            "At least one document must keep the first meaning of {name}. To change the name in all of them, use Rename.",
            { name: entity.name },
          )}
        </p>
      )}
    </fieldset>
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
  return `${t(KIND_NAMES[kind as Kind]).replace("…", "")}: ${what[kind] ?? entity}`;
}
