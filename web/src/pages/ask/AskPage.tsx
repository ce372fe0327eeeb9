import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { PageHead } from "../../components/PageHead";
import { Reader } from "../../components/reader/Reader";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { asked, go, linkTo, setQuery, workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { AnswerCard } from "./AnswerCard";
import { closeReader, readPlace, readWanted, stepCitation, useRuns, WAYS } from "./address";
import { Before } from "./Before";
import "./ask.css";
import { Compare } from "./Compare";
import { EvidencePath } from "./EvidencePath";
import { HistoryPanel, queryOf } from "./HistoryPanel";
import { useAskKeys, useSaidCitation } from "./keys";
import { CitedFacts, Heard, MemoryPanel } from "./Memory";
import type { Place } from "./path";
import { QuestionBox, type Wanted, type Ways } from "./QuestionBox";
import { AGENT, keyOf, markSent, openRun, type Question, type Run } from "./runs";
import { Sources } from "./Sources";
import { Start } from "./Start";
import { Why } from "./Why";

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
    openRun(old.question, { ...WAYS, fresh: true });
    setQuery({ cite: null, at: null, turn: Number(asked("turn") || 0) + 1 }, { replace: true });
  };
  const ask = (next: Wanted) => {
    if (next.compared.length === 0) {
      const { compared: _, ...question } = next;
      const sent: Question = { workspace: here, ...question };
      // The address stays as it is: without this, the same words would do nothing.
      if (run && keyOf(run.question) === keyOf(sent)) {
        if (!isRunning) again(run);
        return;
      }
      markSent(sent);
    }
    go(linkTo("ask", { ...queryOf(next), vs: next.compared.join(",") }));
  };
  const openPlace = ({ document, start, end }: Place) =>
    setQuery({ cite: null, at: `${document}:${start}:${end}` });
  useAskKeys(run, place);
  useSaidCitation(place, run);
  return (
    <div class={place ? "ask reading" : "ask"}>
      <div class="stack ask-main">
        <PageHead title={t.value.pages.ask} />
        <Before workspace={here} wanted={wanted} />
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
        {!wanted.text && !wanted.after && details.data && (
          <Start isEmpty={details.data.documents === 0} />
        )}
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
        runs.length < 2 && (
          <div class="stack">
            <HistoryPanel workspace={here} />
            <MemoryPanel workspace={here} />
          </div>
        )
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
  if (run.reply.value && !answer) return <Heard run={run} />;
  return (
    <>
      <Heard run={run} />
      <AnswerCard
        run={run}
        open={open}
        onOpen={openCitation}
        onAgain={onAgain}
        {...(run.question.retriever.startsWith(AGENT) ? {} : { onFurther: () => goOn(run) })}
      >
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
      <CitedFacts facts={answer?.memory ?? []} />
      {showsWhy && evidence && <Why run={run} />}
      {answer?.answered && evidence && (
        <EvidencePath answer={answer} evidence={evidence} onPlace={onPlace} />
      )}
      <Sources run={run} open={open} onOpen={openCitation} onPlace={onPlace} />
    </>
  );
}

/** Open a question that goes on from the answer of a run. */
function goOn({ question }: Run): void {
  go(linkTo("ask", { ...queryOf(question), q: "", after: question.text }));
  document.getElementById("question")?.focus();
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
