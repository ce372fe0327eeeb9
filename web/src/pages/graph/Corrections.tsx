import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { ErrorState } from "../../components/ErrorState";
import { sayType } from "../../components/graph/types";
import { Menu } from "../../components/Menu";
import { Skeleton } from "../../components/Progress";
import { moment, t } from "../../i18n";
import { say } from "../../i18n/say";
import { announce } from "../../state/announcements";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";
import { mayWrite, revision } from "../../state/workspaces";
import { ask } from "./asked";
import { Search } from "./Search";
import { sayRelation } from "./words";

type Details = Shapes["EntityDetails"];

/** What is corrected; entities are given by their ids. */
export type Change = Pick<Correction, "entity"> & { kind: Kind } & Partial<
    Pick<Correction, "other" | "relation" | "name" | "type" | "documents">
  >;

type Correction = Shapes["CorrectionShape"];
type Kind = (typeof KINDS)[number];

const KINDS = [
  "rename",
  "merge",
  "split",
  "divide",
  "retype",
  "hide",
  "add_relation",
  "remove_relation",
  "pin",
] as const;

const ALL = "/api/v1/workspaces/{workspace}/corrections";
const ONE = "/api/v1/workspaces/{workspace}/corrections/{correction}";

/** Whether the list of corrections is open. */
export const isListOpen = signal(false);

/** Make a correction, and show the graph as it is then. Throws ApiError. */
export async function correct(change: Change): Promise<void> {
  const body = { other: "", relation: "", name: "", type: "", documents: [], ...change };
  await take(api.POST(ALL, { params: { path: { workspace: workspace.value } }, body }));
  revision.value += 1;
  announce(t.value.graph.corrected);
  if (change.kind === "hide") ask({ focus: null });
}

async function undo({ id, kind }: Correction): Promise<void> {
  const path = { workspace: workspace.value, correction: id };
  await take(api.DELETE(ONE, { params: { path } }));
  if (kind === "divide") ask({ focus: null });
  revision.value += 1;
  announce(t.value.graph.undone);
}

/** The corrections of one entity. */
export function CorrectionMenu({ entity }: { entity: Details }) {
  const [kind, setKind] = useState<Kind | null>(null);
  const words = t.value.graph;
  if (!mayWrite.value) return null;
  const offered = KINDS.filter(
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
          <div class="menu-list">
            {offered.map((name) => (
              <Button
                key={name}
                kind="quiet"
                onClick={async () => {
                  close();
                  if (name === "hide" || name === "pin")
                    await correct({ kind: name, entity: entity.id });
                  else setKind(name);
                }}
              >
                {words.kinds[name]}
              </Button>
            ))}
            <Button
              kind="quiet"
              class="menu-rule"
              onClick={() => {
                close();
                isListOpen.value = true;
              }}
            >
              {words.corrections}
            </Button>
          </div>
        )}
      >
        <span>{words.correct}</span>
      </Menu>
      {kind && <CorrectionDialog kind={kind} entity={entity} onClose={() => setKind(null)} />}
    </>
  );
}

/** The titles of the documents that mention an entity, by URI. */
function documentsOf({ sources }: Details): Map<string, string> {
  return new Map(sources.map(({ document, title }) => [document, title || document]));
}

interface CorrectionDialogProps {
  kind: Kind;
  entity: Details;
  onClose: () => void;
}

function CorrectionDialog({ kind, entity, onClose }: CorrectionDialogProps) {
  const words = t.value.graph;
  const [text, setText] = useState(
    kind === "rename" ? entity.name : kind === "retype" ? entity.type : "",
  );
  const [other, setOther] = useState(kind === "split" ? (entity.names[0] ?? "") : "");
  const [documents, setDocuments] = useState<readonly string[]>([]);
  const path = { workspace: workspace.value, entity: entity.id };
  const found = useLoaded(kind === "divide" ? entity.id : "", (signal) =>
    take(
      api.GET("/api/v1/workspaces/{workspace}/graph/entities/{entity}", {
        params: { path, query: { relations: 0, sources: 50 } },
        signal,
      }),
    ),
  );
  const isNamed = kind === "rename" || kind === "divide";
  const needsText = isNamed || kind === "retype" || kind === "add_relation";
  const needsOther = kind === "merge" || kind === "split" || kind === "add_relation";
  const isReady =
    (!needsText || text.trim() !== "") &&
    (!needsOther || other !== "") &&
    (kind !== "divide" || documents.length > 0);
  const field = isNamed ? "name" : kind === "retype" ? "type" : "relation";
  const save = async () => {
    await correct({
      kind,
      entity: entity.id,
      ...(needsText ? { [field]: text.trim() } : {}),
      ...(needsOther ? { other } : {}),
      documents: [...documents],
    });
    onClose();
  };
  return (
    <Dialog
      class="narrow"
      title={words.kindTitles[kind](entity.name)}
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {t.value.common.cancel}
          </Button>
          <Button kind="main" disabled={!isReady} onClick={save}>
            {words.kinds[kind].replace("…", "")}
          </Button>
        </>
      }
    >
      <div class="stack">
        {needsText && (
          <label class="field">
            <span>{words.fields[field]}</span>
            <input
              type="text"
              value={text}
              {...(kind === "retype" ? { list: "entity-types" } : {})}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
        )}
        {kind === "retype" && (
          <datalist id="entity-types">
            {Object.keys(words.typeNames).map((type) => (
              <option key={type} value={type}>
                {sayType(type)}
              </option>
            ))}
          </datalist>
        )}
        {kind === "divide" && (
          <fieldset class="field">
            <legend>{words.meantIn}</legend>
            {[...documentsOf(found.data ?? entity)].map(([uri, title]) => (
              <label key={uri} class="switch">
                <input
                  type="checkbox"
                  checked={documents.includes(uri)}
                  onChange={({ currentTarget }) => {
                    const others = documents.filter((each) => each !== uri);
                    setDocuments(currentTarget.checked ? [...others, uri] : others);
                  }}
                />
                <span>{title}</span>
              </label>
            ))}
          </fieldset>
        )}
        {kind === "split" && (
          <label class="field">
            <span>{words.splitOff}</span>
            <select value={other} onChange={(event) => setOther(event.currentTarget.value)}>
              {entity.names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        {needsOther && kind !== "split" && (
          <Search label={words.otherEntity} onChoose={(id) => setOther(id)} />
        )}
        <p class="small muted">{words.correctionNote}</p>
      </div>
    </Dialog>
  );
}

/** All corrections, the newest first, each with a way to undo it. */
export function CorrectionList() {
  const words = t.value.graph;
  const found = useLoaded(`${workspace.value}\n${revision.value}`, (aborted) =>
    take(api.GET(ALL, { params: { path: { workspace: workspace.value } }, signal: aborted })),
  );
  const corrections = found.data?.corrections ?? [];
  return (
    <Dialog
      title={words.corrections}
      onClose={() => {
        isListOpen.value = false;
      }}
    >
      {found.error && <ErrorState error={found.error} retry={found.reload} />}
      {found.isLoading && <Skeleton label={t.value.common.loading} lines={3} />}
      {found.data && corrections.length === 0 && <p class="muted">{words.noCorrections}</p>}
      <ul class="corrections">
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
            {mayWrite.value && <Button onClick={() => undo(correction)}>{words.undo}</Button>}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function tell({ kind, entity, other, relation, name, type }: Correction): string {
  const words = t.value.graph;
  const relates = [entity, sayRelation(relation), other].join(" ");
  const what: Record<string, string> = {
    rename: `${entity} → ${name}`,
    merge: `${entity} + ${other}`,
    split: `${entity} | ${other}`,
    divide: `${entity} | ${name}`,
    retype: `${entity}: ${sayType(type)}`,
    add_relation: relates,
    remove_relation: relates,
  };
  const label = words.kinds[kind as Kind].replace("…", "");
  return `${label}: ${what[kind] ?? entity}`;
}
