import { useEffect, useMemo, useState } from "preact/hooks";
import { Empty } from "../../components/Empty";
import { isMissing, Pending } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { PageHead } from "../../components/PageHead";
import { endOfLine, loadDocument, nameOf } from "../../components/reader/document";
import { Outline } from "../../components/reader/Outline";
import "../../components/reader/reader.css";
import { Source, SourceTools, showsPages } from "../../components/reader/Source";
import { t } from "../../i18n";
import { useCall } from "../../state/calls";
import { useLoaded } from "../../state/loading";
import { asked, go, linkTo, workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { Actions } from "./Actions";
import { ContentsPanel } from "./ContentsPanel";
import "./documents.css";

/** The document that the address names; without one, the files of the library. */
export default function DocumentsPage() {
  const document = asked("doc");
  const name = asked("name");
  useEffect(() => {
    if (!document) go(linkTo("library", { name }), { replace: true });
  }, [document, name]);
  return document ? <DocumentView key={`${workspace.value}/${document}`} id={document} /> : null;
}

/** One document: its structure, its text with the passages, and what came from it. */
function DocumentView({ id }: { id: string }) {
  const here = workspace.value;
  const read = useLoaded(`${here} ${id} ${revision.value}`, () => loadDocument(here, id), {
    keepsOld: true,
  });
  const asks = { document: id };
  const contents = useCall("get", "/documents/{document}/contents", asks, { keepsOld: true });
  // A passage may be named by its id alone, as where its place was not kept.
  const named = read.data?.details.chunks.find((chunk) => chunk.id === asked("chunk"))?.span;
  const start = readPlace(asked("start")) ?? named?.[0] ?? null;
  // A link says where a part begins: its first line is marked.
  const end = readPlace(asked("end")) ?? named?.[1] ?? (read.data && endOfLine(read.data, start));
  const marks = useMemo(
    () => (start !== null && end !== null && end > start ? [[start, end]] : []),
    [start, end],
  );
  const isUnderlined = asked("things") === "1";
  const [current, setCurrent] = useState(0);
  useEffect(() => setCurrent(start ?? 0), [start]);
  if (!read.data || read.error) {
    return (
      <>
        <Back />
        {isMissing(read.error) ? (
          <Empty icon="none" title={t("This document was removed")} />
        ) : (
          <Pending of={read} lines={10} />
        )}
      </>
    );
  }
  const { details } = read.data;
  return (
    <>
      <Back />
      <PageHead
        title={details.title || nameOf(details.uri)}
        actions={
          <>
            <SourceTools details={details} />
            <Actions details={details} contents={contents.data} isUnderlined={isUnderlined} />
          </>
        }
      >
        <p class="small break">{details.uri}</p>
      </PageHead>
      <div class="document">
        <Outline details={details} current={current} isOpen />
        <section
          class="card document-body"
          aria-label={details.title || details.uri}
          data-scroller
          {...(showsPages(details) ? { tabIndex: 0 } : {})}
        >
          {details.text ? (
            <Source
              read={read.data}
              marks={marks}
              onRead={setCurrent}
              {...(isUnderlined && contents.data ? { things: contents.data.things } : {})}
            />
          ) : (
            <Empty icon="documents" title={t("The file contains no text.")} />
          )}
        </section>
        <ContentsPanel read={read.data} contents={contents} />
      </div>
    </>
  );
}

function Back() {
  return (
    <a class="row small back" href={linkTo("library")}>
      <Icon name="left" size={14} />
      {t("All documents")}
    </a>
  );
}

function readPlace(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null;
}
