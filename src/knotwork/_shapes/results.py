"""Shapes of answers and their cost, of evidence, and of the rows of queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from knotwork._shapes.base import Json, Rounded, Shape, typed
from knotwork.records import (
    Answer,
    Chunk,
    Citation,
    Document,
    Evidence,
    GraphPath,
    Hit,
    PageBox,
    QueryResult,
    RowSource,
    Span,
    StageUsage,
    TimeSpan,
    Usage,
)

if TYPE_CHECKING:
    from knotwork._stores.base import Store


def _document_id(record: Citation | RowSource) -> str:
    return Document(record.document, "").id


CITATION = Shape(
    "CitationShape",
    Citation,
    "A source of an answer: the characters ``span`` of the document are ``quote``.",
    score=Rounded,
    document_id=(str, _document_id),
)
USAGE = Shape(
    "UsageShape",
    Usage,
    "The cost of an operation. Money is text, because a float is not exact.",
    "model_calls input_tokens output_tokens reused_calls cached_tokens embedded_texts seconds",
    reused_calls=Annotated[int, "Calls that were answered from the cache, at no cost."],
    cached_tokens=Annotated[
        int, "Input tokens that the server of the model had cached, at a lower price."
    ],
    seconds=Rounded,
    money=(
        Annotated[str | None, "Null if the price of a model is unknown."],
        lambda usage: None if usage.money is None else str(usage.money),
    ),
    stages=(
        Annotated[dict[str, StageUsage], "The usage of language models by stage."],
        lambda usage: {stage.stage: stage for stage in usage.stages},
    ),
)
ROW_SOURCE = Shape(
    "RowSourceShape",
    RowSource,
    "A row of an indexed file that a result was computed from. ``row`` is its number in the file "
    "or sheet, from 1, including the header.",
    document_id=(str, _document_id),
)
RESULT = Shape(
    "ResultShape",
    QueryResult,
    "The rows that a query returned.",
    "language statement parameters columns rows truncated seconds place source confidence "
    "row_sources row_count notes",
    parameters=dict[str, Any],
    **typed(Rounded, "seconds confidence"),
    place=Annotated[str, "The graph or the tables that the statement read."],
    source=Annotated[str, "The retriever that wrote the statement, or retrieval_query."],
    row_sources=Annotated[
        tuple[RowSource, ...], "The first rows of files that the result was computed from."
    ],
    row_count=Annotated[int | None, "The number of all such rows, if known."],
)
ANSWER = Shape(
    "AnswerShape",
    Answer,
    "An answer; if ``answered`` is false, its citations are the nearest passages. [1], [2], … in "
    "its Markdown text are the numbers of citations, [M1], [M2], … those of remembered facts in "
    "``memory``. ``confidence`` is the estimated probability that it is right, null for outlines "
    "and counts. ``pieces`` are the parts of documents that it consists of, empty if a model "
    "wrote it.",
    "question answer=text short answered reason confidence strength retriever mode model notes "
    "citations pieces memory results usage",
    confidence=Rounded | None,
)


def split_pieces(answer: Answer) -> Iterator[str]:
    """Yield the text of an answer in parts that each end with a piece, as they are streamed."""
    start = 0
    for piece in answer.pieces:
        found = answer.text.find(piece.markdown, start)
        if found < 0:
            continue
        end = found + len(piece.markdown)
        end += len(answer.text[end:]) - len(answer.text[end:].lstrip())
        yield answer.text[start:end]
        start = end
    if start < len(answer.text):
        yield answer.text[start:]


def section_of(chunk: Chunk) -> str:
    """Return the headings above a chunk, outermost first."""
    return " > ".join(chunk.headings)


SENTENCE = Shape(
    "SentenceShape",
    None,
    "A sentence of a passage that is relevant to the question.",
    span=Span,
    relevance=float,
)
HIT = Shape(
    "HitShape",
    Hit,
    "A passage, and why it was found; spans are offsets in the document.",
    "rank chunk_id=chunk.id document document_id=chunk.document_id title=chunk.document_title "
    "section page time box span=chunk.span text=chunk.text score scores seeds path",
    rank=int,
    document=Annotated[str, "Its URI; empty if the document was deleted during the search."],
    section=(str, lambda hit: section_of(hit.chunk)),
    page=Annotated[str, "The label of the page on which it begins; empty without pages."],
    time=Annotated[TimeSpan | None, "When it is spoken; null unless in a recording or subtitles."],
    box=Annotated[PageBox | None, "Where it is on its page; null unless in a scan or picture."],
    sentences=(
        SENTENCE.many,
        lambda hit: [{"span": span, "relevance": value} for span, value in hit.sentences],
    ),
)
PATH = Shape("PathShape", GraphPath, "A path in the graph.", "text score scores hops")
EVIDENCE = Shape(
    "EvidenceShape",
    Evidence,
    "The passages, paths and rows that a retriever found, best first.",
    "question=query.text filter retriever confidence hits paths results trace notes",
    filter=(
        Annotated[str, "The applied filter as a text; empty for none."],
        lambda evidence: str(evidence.query.filter or ""),
    ),
    confidence=Rounded,
)


def describe_evidence(evidence: Evidence, store: Store) -> Json:
    """Return the JSON of evidence; reads the documents of the hits."""
    documents = store.documents.documents({hit.chunk.document_id for hit in evidence.hits})
    hits = []
    for rank, hit in enumerate(evidence.hits, start=1):
        document, span = documents.get(hit.chunk.document_id), hit.chunk.span
        hits.append(
            HIT(
                hit,
                rank=rank,
                document=document.uri if document else "",
                page=document.page_at(span.start) if document else "",
                time=document.time_of(span) if document else None,
                box=document.box_of(span) if document else None,
            )
        )
    return EVIDENCE(evidence, hits=hits)


def locate(place: Json) -> Json:
    """Return where a citation or passage is, from its JSON, with plain values."""
    time, box = place["time"], place["box"]
    return {
        **{name: place[name] for name in ("document", "title", "section", "page")},
        "start": place["span"].start,
        "end": place["span"].end,
        "score": place["score"],
        "chunk_id": place["chunk_id"],
        "start_s": time.start_s if time else None,
        "end_s": time.end_s if time else None,
        "box": box.edges if box else None,
    }
