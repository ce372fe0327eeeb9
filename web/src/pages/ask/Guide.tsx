import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { t } from "../../i18n";
import { useCall } from "../../state/calls";
import { isReading, unread } from "../../state/jobs";
import { go, linkTo } from "../../state/location";
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
  const isEmpty = details?.documents === 0;
  const loaded = useCall("get", "/guide", details && !isEmpty ? {} : null);
  if (isEmpty && isReading.value) return <Empty icon="ask" title={sayReady()} />;
  if (isEmpty)
    return (
      <Empty
        icon="ask"
        title={sayMissing(details.failed)}
        actions={
          <Button
            label={t("Go to the library")}
            kind="main"
            onClick={() => go(linkTo("library"))}
          />
        }
      >
        {unread.value + details.failed === 0 && (
          <p>{t("Add files in the library. You can ask as soon as the first ones are indexed.")}</p>
        )}
      </Empty>
    );
  const guide: Partial<Shapes["GuideShape"]> = loaded.data ?? {};
  const { documents = [], topics = [], questions = [], timeline = [] } = guide;
  return (
    <section class="guide stack" aria-label={t("Guide")}>
      <p class="muted">
        {t(
          "Ask in your own words. Answers cite their sources, or say that the documents do not contain the answer.",
        )}
      </p>
      {isReading.value && <p class="tag warn">{sayReady()}</p>}
      <Offers label={t("Questions to ask")} questions={questions} onAsk={onAsk} />
      <Part title={t("Documents")} lines={documents.map(toLine)} />
      {topics.length > 0 && <h2>{t("Topics")}</h2>}
      <ul class="lines small">
        {topics.map(({ name, community }) => (
          <li key={community}>
            <a href={linkTo("communities", { c: community })}>{name}</a>
          </li>
        ))}
      </ul>
      <Part title={t("Timeline")} lines={timeline.map(toLine)} />
    </section>
  );
}

/** Return why there is nothing to ask about. */
function sayMissing(failed: number): string {
  const n = unread.value;
  if (n > 0) return t("{n} {n:file has|files have} not been read yet.", { n });
  return failed > 0
    ? t("{n} {n:file needs|files need} attention", { n: failed })
    : t("No documents yet");
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
