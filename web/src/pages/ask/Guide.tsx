import type { ComponentChildren } from "preact";
import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { t } from "../../i18n";
import { isReading } from "../../state/jobs";
import { useLoaded } from "../../state/loading";
import { go, linkTo } from "../../state/location";
import { revision } from "../../state/workspaces";
import { sayReady } from "./AnswerCard";
import { openPlace } from "./address";
import { type OfferedQuestion, Offers, request } from "./Offers";

interface Cited {
  document_id: string;
  span: readonly number[];
}

/** What a workspace is about; the questions were tried, and its documents answer them. */
interface GuideShape {
  total: number;
  documents: { document: string; title: string; sentence: string; source: Cited | null }[];
  topics: { name: string; community: string }[];
  questions: OfferedQuestion[];
  timeline: { date: string; when: string; sentence: string; source: Cited }[];
}

interface GuideProps {
  workspace: string;
  details: Shapes["WorkspaceDetails"] | null;
  onAsk: (text: string) => void;
}

/** What stands beside a thread while no source is open: what the documents are about. */
export function Guide({ workspace, details, onAsk }: GuideProps) {
  const words = t.value.ask;
  const isEmpty = details?.documents === 0;
  const loaded = useLoaded(details && !isEmpty ? `${workspace} ${revision.value}` : "", (signal) =>
    request<GuideShape>(workspace, "guide", { signal }),
  );
  if (isEmpty)
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
  const guide: Partial<GuideShape> = loaded.data ?? {};
  const { documents = [], topics = [], questions = [], timeline = [] } = guide;
  return (
    <section class="guide stack" aria-label={words.guide.title}>
      <p class="muted">{words.start}</p>
      {isReading.value && <p class="tag warn">{sayReady()}</p>}
      <Offers label={words.guide.questions} questions={questions} onAsk={onAsk} />
      {documents.length > 0 && (
        <Part title={words.guide.documents}>
          {documents.map(({ document, title, sentence, source }) => (
            <li key={document}>
              <Passage title={title} source={source ?? { document_id: document, span: [0, 0] }} />
              <p class="muted">{sentence}</p>
            </li>
          ))}
        </Part>
      )}
      {topics.length > 0 && (
        <Part title={words.guide.topics}>
          {topics.map(({ name, community }) => (
            <li key={community}>
              <a href={linkTo("communities", { c: community })}>{name}</a>
            </li>
          ))}
        </Part>
      )}
      {timeline.length > 0 && (
        <Part title={words.guide.timeline}>
          {timeline.map(({ date, when, sentence, source }) => (
            <li key={`${date} ${sentence}`}>
              <Passage title={when || date} source={source} />
              <p class="muted">{sentence}</p>
            </li>
          ))}
        </Part>
      )}
    </section>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="stack tight">
      <h2>{title}</h2>
      <ul class="stack tight small">{children}</ul>
    </div>
  );
}

function Passage({ title, source }: { title: string; source: Cited }) {
  const [start = 0, end = 0] = source.span;
  return (
    <button
      type="button"
      class="link-button"
      onClick={() => openPlace({ document: source.document_id, start, end })}
    >
      {title}
    </button>
  );
}
