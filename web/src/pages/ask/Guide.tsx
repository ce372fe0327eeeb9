import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { t } from "../../i18n";
import { useCall } from "../../state/calls";
import { isReading } from "../../state/jobs";
import { go, linkTo } from "../../state/location";
import { useUnread } from "../library/listing";
import { openPlace, type Passage, placeOf } from "./address";
import { Offers } from "./Offers";
import { sayReady } from "./words";

type Described = Shapes["DescribedDocumentShape"];
type Dated = Shapes["DatedEventShape"];

interface GuideProps {
  details: Shapes["WorkspaceDetails"] | null;
  onAsk: (text: string) => void;
}

/** What stands beside a thread while no source is open: what the documents are about. */
export function Guide({ details, onAsk }: GuideProps) {
  const words = t.value.ask;
  const isEmpty = details?.documents === 0;
  const loaded = useCall("get", "/guide", details && !isEmpty ? {} : null);
  const unread = useUnread();
  if (isEmpty && isReading.value) return <Empty icon="ask" title={sayReady()} />;
  if (isEmpty)
    return (
      <Empty
        icon="ask"
        title={sayMissing(unread, details.failed)}
        actions={
          <Button
            label={t.value.documents.toLibrary}
            kind="main"
            onClick={() => go(linkTo("library"))}
          />
        }
      >
        {unread + details.failed === 0 && <p>{words.startEmpty}</p>}
      </Empty>
    );
  const guide: Partial<Shapes["GuideShape"]> = loaded.data ?? {};
  const { documents = [], topics = [], questions = [], timeline = [] } = guide;
  return (
    <section class="guide stack" aria-label={words.guide.title}>
      <p class="muted">{words.start}</p>
      {isReading.value && <p class="tag warn">{sayReady()}</p>}
      <Offers label={words.guide.questions} questions={questions} onAsk={onAsk} />
      <Part title={words.guide.documents} lines={documents.map(toLine)} />
      {topics.length > 0 && <h2>{words.guide.topics}</h2>}
      <ul class="lines small">
        {topics.map(({ name, community }) => (
          <li key={community}>
            <a href={linkTo("communities", { c: community })}>{name}</a>
          </li>
        ))}
      </ul>
      <Part title={words.guide.timeline} lines={timeline.map(toLine)} />
    </section>
  );
}

/** Return why there is nothing to ask about. */
function sayMissing(unread: number, failed: number): string {
  const { documents, jobs, library } = t.value;
  if (unread > 0) return jobs.notRead(unread);
  return failed > 0 ? library.files.needAttention(failed) : documents.none;
}

interface Line {
  title: string;
  sentence: string;
  source: Passage;
}

function toLine(each: Described | Dated): Line {
  if ("when" in each) return { ...each, title: each.when || each.date };
  return { ...each, source: each.source ?? { ...each, span: [] } };
}

/** Sentences of documents: each opens where it is. */
function Part({ title, lines }: { title: string; lines: readonly Line[] }) {
  if (lines.length === 0) return null;
  return (
    <div class="stack tight small">
      <h2>{title}</h2>
      {lines.map(({ title: name, sentence, source }) => (
        <p key={`${source.document_id} ${source.span[0]}`}>
          <Button kind="link" label={name} onClick={() => openPlace(placeOf(source))} />{" "}
          <span class="muted">{sentence}</span>
        </p>
      ))}
    </div>
  );
}
