import { useEffect, useRef, useState } from "preact/hooks";
import { isWaiting } from "../../api/client";
import { IconButton } from "../../components/Button";
import { tellError } from "../../components/ErrorState";
import { Tabs } from "../../components/Fields";
import { quote } from "../../components/filters/conditions";
import { Icon } from "../../components/Icon";
import { PageHead } from "../../components/PageHead";
import { Reader } from "../../components/reader/Reader";
import { t } from "../../i18n";
import { announce } from "../../state/announcements";
import { useCall } from "../../state/calls";
import { renewal } from "../../state/connection";
import { settled } from "../../state/jobs";
import { asked, go, instead, linkTo, setQuery, workspace } from "../../state/location";
import { keepInTab, recallInTab } from "../../state/preferences";
import { chosenSources } from "../../state/sources";
import { SourcesPanel } from "../library/SourcesPanel";
import {
  type Choice,
  closeReader,
  openPlace,
  queryOf,
  readChoice,
  readPlace,
  stepCitation,
} from "./address";
import "./ask.css";
import { Compare } from "./Compare";
import { Guide } from "./Guide";
import { History } from "./History";
import { useAskKeys, useSaidCitation } from "./keys";
import { MemoryPanel } from "./Memory";
import { QuestionBox } from "./QuestionBox";
import { removed, useRemoved } from "./removed";
import type { Question } from "./runs";
import { TurnView } from "./TurnView";
import { exportThread, openThread, shownThreads, Thread } from "./threads";

/** The address of a new thread. */
const NEW = "new";

/** The workspace: its sources, a thread of questions, and the source of an answer. */
export default function AskPage() {
  const here = workspace.value;
  const choice = readChoice();
  const text = asked("q").trim();
  const isComparing = choice.compared.length > 1 && text !== "";
  const thread = useThread(here, choice);
  const runs = thread?.runs.value ?? [];
  const place = readPlace(runs);
  const [view, setView] = useState<"thread" | "sources">("thread");
  const details = useCall("get", "", {}, { keepsOld: true, turn: settled.value });
  const known = details.data?.name === here ? details.data : null;
  const ask = (question: string, how: Choice) => {
    if (how.compared.length > 1) {
      go(linkTo("ask", { thread: thread?.id.peek(), q: question, ...queryOf(how) }));
      return;
    }
    const open = thread ?? new Thread(here);
    shownThreads.set(here, open);
    const uris = [...chosenSources.peek().values()].map(quote);
    const only = uris.length > 0 ? `uri in (${uris.join(", ")})` : "";
    open.ask(questionOf(here, question, how, only));
    showThread(open, how);
    setView("thread");
  };
  const askHere = (question: string) => ask(question, choice);
  useAskKeys(runs);
  useSaidCitation(place);
  useRemoved(runs);
  const hasTurns = runs.length > 0 || isComparing;
  const kinds = `${place ? "reading" : ""} ${hasTurns ? "has-turns" : ""}`;
  return (
    <div class={`ask ${kinds}`} data-view={view}>
      <Tabs
        class="narrow-only"
        label={t("Parts of the workspace")}
        options={["thread", "sources"]}
        say={(name) => (name === "thread" ? t("Thread") : t("Sources"))}
        chosen={view}
        onChoose={setView}
      >
        <a class="row center" href={linkTo("graph")}>
          {t("Graph")}
        </a>
      </Tabs>
      <SourcesPanel
        workspace={here}
        model={known?.model}
        onOpen={(event, document) =>
          instead(event, () => openPlace({ document, start: 0, end: 0 }))
        }
      />
      <div class="ask-thread">
        <PageHead
          title={t("Workspace")}
          actions={
            <>
              <a class="button quiet" href={linkTo("ask", { thread: NEW })}>
                <Icon name="plus" />
                <span>{t("New thread")}</span>
              </a>
              <History />
              {thread && runs.some(({ answer }) => answer.value) && (
                <IconButton
                  icon="download"
                  label={t("Export as Markdown")}
                  onClick={() => exportThread(thread)}
                />
              )}
            </>
          }
        />
        {isComparing ? (
          <>
            <Compare question={questionOf(here, text, choice)} retrievers={choice.compared} />
            <IconButton
              icon="close"
              label={t("Stop comparing")}
              onClick={() => setQuery({ vs: null, q: null })}
            />
          </>
        ) : (
          thread && <Turns thread={thread} isReading={place !== null} onAsk={askHere} />
        )}
        <QuestionBox
          choice={choice}
          details={known}
          isFollowUp={runs.length > 0 && !isComparing}
          isRunning={runs.some(({ state }) => state.value === "running")}
          onAsk={ask}
          onStop={() => {
            for (const run of runs) run.stop();
          }}
        />
      </div>
      <div class={place ? "reader-side" : "ask-side stack loose beside"}>
        {place ? (
          <Reader
            {...place}
            label={
              place.citation &&
              t("{shown} of {total}", {
                shown: String(place.citation.number),
                total: String(place.of),
              })
            }
            cited={place.citation}
            isRemoved={removed.value.has(place.citation?.document ?? "")}
            onClose={closeReader}
            onStep={place.of > 1 ? (step: 1 | -1) => stepCitation(runs, step) : undefined}
          />
        ) : (
          <>
            <Guide details={known} onAsk={askHere} />
            <MemoryPanel />
          </>
        )}
      </div>
    </div>
  );
}

function questionOf(
  workspace: string,
  text: string,
  { compared: _, ...how }: Choice,
  only = "",
): Question {
  return { workspace, text, ...how, only, edited: "" };
}

/** Have the address name a thread, which leaves what is open beside it as it is. */
function showThread(thread: Thread, choice: Choice): void {
  const query = { thread: thread.id.peek(), q: thread.title, ...queryOf(choice) };
  setQuery(query, { replace: true, on: "ask" });
}

/** Return the thread of the address: by its id, begun with the question of a link, or the last one. */
function useThread(here: string, choice: Choice): Thread | null {
  const id = asked("thread");
  const text = asked("q").trim();
  const isComparing = choice.compared.length > 1;
  const [thread, setThread] = useState<Thread | null>(null);
  const turn = renewal.value;
  const kept = `thread.${here}`;
  useEffect(() => {
    let isGone = false;
    const show = (found: Thread | null | undefined) => {
      if (isGone) return;
      const opened = found ?? new Thread(here);
      if (!found && text && !isComparing)
        opened.ask(questionOf(here, text, choice), { isSent: false });
      shownThreads.set(here, opened);
      setThread(opened);
      if (id === NEW) document.getElementById("question")?.focus();
    };
    const shown = shownThreads.get(here);
    if (id === NEW) show(null);
    else if (!id && (shown?.title === text || !text) && shown) show(shown);
    else
      openThread(here, id || (text ? "" : recallInTab(kept))).then(show, (error: unknown) => {
        if (isWaiting(error)) return;
        announce(tellError(error), "bad");
        show(null);
      });
    return () => {
      isGone = true;
    };
  }, [here, id, id ? "" : text, isComparing, thread ? 0 : turn]);
  const known = thread?.id.value ?? "";
  useEffect(() => {
    if (thread?.title && !isComparing) showThread(thread, choice);
    if (thread) keepInTab(kept, known);
  }, [thread, known]);
  return thread;
}

interface TurnsProps {
  thread: Thread;
  /** Whether a source is open beside it. */
  isReading: boolean;
  onAsk: (text: string) => void;
}

/** The turns of a thread, the last one in view. */
function Turns({ thread, isReading, onAsk }: TurnsProps) {
  const list = useRef<HTMLOListElement>(null);
  const runs = thread.runs.value;
  useEffect(() => {
    list.current?.lastElementChild?.scrollIntoView({ block: "start" });
  }, [thread, runs.length]);
  useEffect(() => {
    // A narrower thread is longer: what moved must not end up with a question cut in two.
    for (const question of list.current?.querySelectorAll(".turn-question") ?? []) {
      const { top, bottom } = question.getBoundingClientRect();
      if (top < 0 && bottom > 0) question.closest("li")?.scrollIntoView({ block: "start" });
    }
  }, [isReading]);
  return (
    <ol ref={list} class="turns stack" aria-label={t("Thread")}>
      {runs.map((run, index) => (
        <li key={`${index} ${run.at}`}>
          <TurnView
            thread={thread}
            run={run}
            number={index + 1}
            isLast={index === runs.length - 1}
            onAsk={onAsk}
          />
        </li>
      ))}
    </ol>
  );
}
