import { useEffect, useMemo, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { PageHead } from "../../components/PageHead";
import { Reader } from "../../components/reader/Reader";
import { t } from "../../i18n";
import { speak } from "../../state/announcements";
import { useShortcuts } from "../../state/keys";
import { useLoaded } from "../../state/loading";
import { asked, go, linkTo, setQuery, workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { AnswerCard } from "./AnswerCard";
import "./ask.css";
import { Compare } from "./Compare";
import { EvidencePath } from "./EvidencePath";
import { HistoryPanel, queryOf } from "./HistoryPanel";
import { addToHistory, restoreRun } from "./history";
import type { Place } from "./path";
import { QuestionBox, type Wanted, type Ways } from "./QuestionBox";
import { openRun, type Question, type Run } from "./runs";
import { Sources } from "./Sources";
import { Why } from "./Why";

const WAYS = { restore: restoreRun, onDone: addToHistory };

/** A question, its answer, and everything that the answer stands on. */
export default function AskPage() {
  const here = workspace.value;
  const wanted = readWanted();
  const ways = useLoaded("retrievers", () => take(api.GET("/api/v1/retrievers")));
  const details = useLoaded(`${here} ${revision.value}`, (signal) =>
    take(
      api.GET("/api/v1/workspaces/{workspace}", { params: { path: { workspace: here } }, signal }),
    ),
  );
  const runs = useRuns(here, wanted);
  const run = runs.length === 1 ? runs[0] : undefined;
  const place = readPlace(runs);
  const isRunning = runs.some(({ state }) => state.value === "running");
  const again = (old: Run) => {
    openRun(old.question, { ...WAYS, anew: true });
    setQuery({ cite: null, at: null, turn: Number(asked("turn") || 0) + 1 }, { replace: true });
  };
  const ask = (next: Wanted) => {
    const text = next.text || wanted.text;
    const query = { ...queryOf({ ...next, text }), vs: next.compared.join(",") };
    go(linkTo("ask", query), { replace: !text });
  };
  const openPlace = ({ document, start, end }: Place) =>
    setQuery({ cite: null, at: `${document}:${start}:${end}` });
  useAskKeys(run, place);
  useSaidCitation(place, run);
  return (
    <div class={place ? "ask reading" : "ask"}>
      <div class="stack ask-main">
        <PageHead title={t.value.pages.ask} />
        <QuestionBox
          wanted={wanted}
          ways={(ways.data as unknown as Ways | null) ?? null}
          details={details.data}
          isRunning={isRunning}
          onAsk={ask}
          onStop={() => {
            for (const each of runs) each.stop();
          }}
        />
        {!wanted.text && details.data && <Start isEmpty={details.data.documents === 0} />}
        {run && <Answered run={run} onAgain={() => again(run)} onPlace={openPlace} />}
        {runs.length > 1 && (
          <Compare
            runs={runs}
            onAgain={again}
            onPlace={openPlace}
            onCitation={(from, number) => {
              const citation = from.answer
                .peek()
                ?.citations.find((known) => known.number === number);
              if (!citation) return;
              const [start = 0, end = 0] = citation.span;
              openPlace({ document: citation.document_id, start, end });
            }}
          />
        )}
      </div>
      {place ? (
        <div class="ask-side">
          <Reader
            document={place.document}
            start={place.start}
            end={place.end}
            label={place.number ? t.value.common.of(String(place.number), String(place.of)) : ""}
            onClose={closeReader}
            {...(place.number && place.of > 1
              ? { onStep: (step: 1 | -1) => stepCitation(run, step) }
              : {})}
          />
        </div>
      ) : (
        runs.length < 2 && <HistoryPanel workspace={here} />
      )}
    </div>
  );
}

interface AnsweredProps {
  run: Run;
  onAgain: () => void;
  onPlace: (place: Place) => void;
}

function Answered({ run, onAgain, onPlace }: AnsweredProps) {
  const words = t.value.ask;
  const open = Number(asked("cite")) || 0;
  const showsWhy = asked("why") === "1";
  const answer = run.answer.value;
  const evidence = run.evidence.value;
  const openCitation = (number: number) => setQuery({ cite: number, at: null });
  return (
    <>
      <AnswerCard run={run} open={open} onOpen={openCitation} onAgain={onAgain}>
        <GraphButton run={run} />
        <Button
          kind="quiet"
          icon="info"
          pressed={showsWhy}
          onClick={() => setQuery({ why: showsWhy ? null : 1 }, { replace: true })}
        >
          {words.why.open}
        </Button>
      </AnswerCard>
      {showsWhy && evidence && <Why run={run} />}
      {answer?.answered && evidence && (
        <EvidencePath answer={answer} evidence={evidence} onPlace={onPlace} />
      )}
      <Sources run={run} open={open} onOpen={openCitation} onPlace={onPlace} />
    </>
  );
}

/** Leads to the graph, at what the answer goes over. */
function GraphButton({ run }: { run: Run }) {
  const hits = run.evidence.value?.hits ?? [];
  const thing = hits.flatMap(({ path }) => path)[0]?.entity_id;
  const name = hits.flatMap(({ seeds }) => seeds)[0];
  if (!thing && !name) return null;
  const open = async () => {
    const focus = thing ?? (await findThing(run.question.workspace, name ?? ""));
    go(linkTo("graph", { focus }));
  };
  return (
    <Button kind="quiet" icon="graph" onClick={open}>
      {t.value.pages.graph}
    </Button>
  );
}

/** Return the id of the thing that a name means best. Throws ApiError. */
async function findThing(here: string, name: string): Promise<string | undefined> {
  const params = { path: { workspace: here }, query: { name, limit: 1 } };
  const found = await take(api.GET("/api/v1/workspaces/{workspace}/entities", { params }));
  return found.entities[0]?.id;
}

const SUGGESTED = 4;

/** Before the first question: what can be asked, after what the documents are about. */
function Start({ isEmpty }: { isEmpty: boolean }) {
  const here = workspace.value;
  const words = t.value.ask;
  const topics = useLoaded(isEmpty ? "" : `${here} ${revision.value}`, (signal) =>
    take(
      api.GET("/api/v1/workspaces/{workspace}/communities", {
        params: { path: { workspace: here }, query: { limit: SUGGESTED, members: 1 } },
        signal,
      }),
    ),
  );
  if (isEmpty) {
    return (
      <Empty
        icon="ask"
        title={t.value.documents.none}
        actions={
          <Button kind="main" onClick={() => go(linkTo("library"))}>
            {t.value.documents.toLibrary}
          </Button>
        }
      >
        <p>{words.startEmpty}</p>
      </Empty>
    );
  }
  const communities = topics.data?.communities ?? [];
  return (
    <div class="ask-start muted">
      <p>{words.start}</p>
      {communities.length > 0 && (
        <ul>
          {communities.map(({ id, title }) => {
            const question = t.value.communities.question(title);
            return (
              <li key={id}>
                <a href={linkTo("ask", { q: question })}>{question}</a>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}

function readWanted(): Wanted {
  return {
    text: asked("q").trim(),
    retriever: asked("r"),
    mode: asked("mode") || "auto",
    usesModel: asked("model") !== "off",
    compared: asked("vs").split(",").filter(Boolean),
  };
}

/** Return the runs of what the address asks: one, or one for each retriever that is compared. */
function useRuns(here: string, wanted: Wanted): readonly Run[] {
  const { text, retriever, mode, usesModel, compared } = wanted;
  const key = JSON.stringify([here, text, retriever, mode, usesModel, compared, asked("turn")]);
  const [opened, setOpened] = useState<{ key: string; runs: readonly Run[] }>({
    key: "",
    runs: [],
  });
  useEffect(() => {
    const base: Question = { workspace: here, text, retriever, mode, usesModel };
    const names = compared.length > 1 ? compared : [retriever];
    const runs = text ? names.map((name) => openRun({ ...base, retriever: name }, WAYS)) : [];
    setOpened({ key, runs });
  }, [key]);
  return opened.key === key ? opened.runs : [];
}

interface Open extends Place {
  /** The number of the citation, and of how many; 0 for another passage. */
  number: number;
  of: number;
}

/** Return what the address says is open beside the answer. */
function readPlace(runs: readonly Run[]): Open | null {
  const number = Number(asked("cite"));
  const citations = (runs.length === 1 && runs[0]?.answer.value?.citations) || [];
  const citation = citations.find((known) => known.number === number);
  if (citation) {
    const [start = 0, end = 0] = citation.span;
    return { document: citation.document_id, start, end, number, of: citations.length };
  }
  const match = /^([^:]+):(\d+):(\d+)$/.exec(asked("at"));
  if (!match) return null;
  return {
    document: match[1] ?? "",
    start: Number(match[2]),
    end: Number(match[3]),
    number: 0,
    of: 0,
  };
}

function closeReader(): void {
  setQuery({ cite: null, at: null });
}

/** Go to the citation after or before the one that is open; round at the ends. */
function stepCitation(run: Run | undefined, step: 1 | -1): void {
  const citations = run?.answer.peek()?.citations ?? [];
  if (citations.length === 0) return;
  const at = citations.findIndex(({ number }) => number === Number(asked("cite")));
  const next = at < 0 ? (step > 0 ? 0 : citations.length - 1) : at + step + citations.length;
  setQuery(
    { cite: citations[next % citations.length]?.number ?? null, at: null },
    { replace: at >= 0 },
  );
}

/** Say which citation is open, for those who do not see it. */
function useSaidCitation(place: Open | null, run: Run | undefined): void {
  const number = place?.number ?? 0;
  const citation = run?.answer.value?.citations.find((known) => known.number === number);
  const said = citation ? t.value.ask.citation(number, citation.title || citation.document) : "";
  useEffect(() => {
    if (said) speak(said);
  }, [said]);
}

function useAskKeys(run: Run | undefined, place: Open | null): void {
  const words = t.value.ask;
  const numbers = useMemo(() => [1, 2, 3, 4, 5, 6, 7, 8, 9], []);
  const has = (number: number) =>
    run?.answer.peek()?.citations.some((citation) => citation.number === number) ?? false;
  useShortcuts([
    {
      keys: "/",
      label: words.keys.question,
      run: () => document.getElementById("question")?.focus(),
    },
    { keys: "j", label: words.keys.next, run: () => stepCitation(run, 1) },
    { keys: "k", label: words.keys.before, run: () => stepCitation(run, -1) },
    {
      keys: ".",
      label: words.why.open,
      run: () => setQuery({ why: asked("why") ? null : 1 }, { replace: true }),
    },
    {
      keys: "Escape",
      label: words.keys.close,
      run: () => {
        if (place) closeReader();
      },
    },
    ...numbers.map((number) => ({
      keys: String(number),
      label: words.keys.open,
      run: () => {
        if (has(number)) setQuery({ cite: number, at: null });
      },
    })),
  ]);
}
