import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { Confirm, Dialog } from "../../components/Dialog";
import { Pending } from "../../components/ErrorState";
import { Check, TextField } from "../../components/Fields";
import { sayType } from "../../components/graph/types";
import { Menu, MenuList } from "../../components/Menu";
import { nameOf } from "../../components/reader/document";
import { type Messages, moment, t } from "../../i18n";
import { say } from "../../i18n/say";
import { announce } from "../../state/announcements";
import { call, useCall } from "../../state/calls";
import { set } from "../../state/set";
import { mayWrite, noteChange } from "../../state/workspaces";
import { ask } from "./asked";
import { Search } from "./Search";
import { sayRelation } from "./words";

type Details = Shapes["EntityDetails"];
type Correction = Shapes["CorrectionShape"];
type Values = Record<"name" | "type" | "relation" | "other", string> & { documents: string[] };
type Kind = keyof typeof KINDS;
/** Those that ask in a dialog. */
type Asked = keyof Messages["graph"]["kindTitles"];

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
  announce(t.value.graph.corrected);
  if (kind === "hide") ask({ focus: null });
}

async function undo({ id, kind }: Correction): Promise<void> {
  await call("delete", "/corrections/{correction}", { correction: id });
  if (kind === "divide") ask({ focus: null });
  noteChange();
  announce(t.value.graph.undone);
}

/** The corrections of one entity. */
export function CorrectionMenu({ entity }: { entity: Details }) {
  const [kind, setKind] = useState<Asked | null>(null);
  const words = t.value.graph;
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
        label={words.correct}
        side="right"
        content={(close) => (
          <MenuList
            close={close}
            items={[
              ...offered.map((name) => {
                const isAsked = name in words.kindTitles;
                const run = () => (isAsked ? setKind(name as Asked) : correct(name, entity.id));
                return { label: words.kinds[name], run };
              }),
              { label: words.corrections, run: () => set(isListOpen, true), isRuled: true },
            ]}
          />
        )}
      >
        <span>{words.correct}</span>
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
  const words = t.value.graph;
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
      title={words.kindTitles[kind](entity.name)}
      action={words.kinds[kind].replace("…", "")}
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
            label={words.fields[field]}
            value={values[field]}
            {...(field === "type" ? { list: "entity-types" } : {})}
            onInput={set(field)}
          />
        ) : isSplit ? (
          <label key={field} class="field">
            <span>{words.splitOff}</span>
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
          <Search key={field} label={words.otherEntity} onChoose={set("other")} />
        ),
      )}
      <datalist id="entity-types">
        {Object.keys(words.typeNames).map((type) => (
          <option key={type} value={type}>
            {sayType(type)}
          </option>
        ))}
      </datalist>
      <p class="small muted">{words.correctionNote}</p>
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
      <legend>{t.value.graph.meantIn}</legend>
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
          {t.value.graph.meantInAll(entity.name)}
        </p>
      )}
    </fieldset>
  );
}

/** All corrections, the newest first, each with a way to undo it. */
export function CorrectionList() {
  const words = t.value.graph;
  const found = useCall("get", "/corrections", {});
  const corrections = found.data?.corrections ?? [];
  return (
    <Dialog title={words.corrections} onClose={() => set(isListOpen, false)}>
      <Pending of={found} />
      {found.data && corrections.length === 0 && <p class="muted">{words.noCorrections}</p>}
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
            {mayWrite.value && <Button label={words.undo} onClick={() => undo(correction)} />}
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
  return `${t.value.graph.kinds[kind as Kind].replace("…", "")}: ${what[kind] ?? entity}`;
}
