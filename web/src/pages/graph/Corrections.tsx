import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { Confirm, Dialog } from "../../components/Dialog";
import { Pending } from "../../components/ErrorState";
import { TextField } from "../../components/Fields";
import { sayType } from "../../components/graph/types";
import { Menu, MenuList } from "../../components/Menu";
import { type Messages, moment, t } from "../../i18n";
import { say } from "../../i18n/say";
import { announce } from "../../state/announcements";
import { call, useCall } from "../../state/calls";
import { set } from "../../state/set";
import { mayWrite, revision } from "../../state/workspaces";
import { ask } from "./asked";
import { Search } from "./Search";
import { sayRelation } from "./words";

type Details = Shapes["EntityDetails"];
type Correction = Shapes["CorrectionShape"];
type Values = Record<"name" | "type" | "relation" | "other", string>;
type Kind = keyof typeof KINDS;
/** Those that ask in a dialog. */
type Asked = keyof Messages["graph"]["kindTitles"];

/** What each correction needs to know beside its entity; entities are given by their ids. */
const KINDS = {
  rename: ["name"],
  merge: ["other"],
  split: ["other"],
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
  const body = { kind, entity, name: "", type: "", relation: "", other: "", ...values };
  await call("post", "/corrections", { body });
  revision.value += 1;
  announce(t.value.graph.corrected);
  if (kind === "hide") ask({ focus: null });
}

async function undo(correction: string): Promise<void> {
  await call("delete", "/corrections/{correction}", { correction });
  revision.value += 1;
  announce(t.value.graph.undone);
}

/** The corrections of one entity. */
export function CorrectionMenu({ entity }: { entity: Details }) {
  const [kind, setKind] = useState<Asked | null>(null);
  const words = t.value.graph;
  if (!mayWrite.value) return null;
  const offered = (Object.keys(KINDS) as Kind[]).filter(
    (name) => name !== "remove_relation" && (name !== "split" || entity.names.length > 0),
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
    name: entity.name,
    type: entity.type,
    relation: "",
    other: (isSplit && names[0]) || "",
  });
  const given = KINDS[kind].map((field) => [field, values[field].trim()] as const);
  const set = (field: keyof Values) => (value: string) => setValues({ ...values, [field]: value });
  return (
    <Confirm
      class="narrow"
      title={words.kindTitles[kind](entity.name)}
      action={words.kinds[kind].replace("…", "")}
      kind="main"
      isReady={given.every(([, value]) => value)}
      onConfirm={() => correct(kind, entity.id, Object.fromEntries(given))}
      onClose={onClose}
    >
      {given.map(([field]) =>
        field !== "other" ? (
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
            {mayWrite.value && <Button label={words.undo} onClick={() => undo(correction.id)} />}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function tell({ kind, entity, other, relation, name, type }: Correction): string {
  const relates = [entity, sayRelation(relation), other].join(" ");
  const what: Record<string, string> = {
    rename: `${entity} → ${name}`,
    merge: `${entity} + ${other}`,
    split: `${entity} | ${other}`,
    retype: `${entity}: ${sayType(type)}`,
    add_relation: relates,
    remove_relation: relates,
  };
  return `${t.value.graph.kinds[kind as Kind].replace("…", "")}: ${what[kind] ?? entity}`;
}
