"""Records of queries, retrieved evidence with its evidence paths, and cited answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum

from knotwork.records._documents import Chunk, PageBox, Span, TimeSpan
from knotwork.records._filters import Filter
from knotwork.records._query_results import QueryResult

_BLOCK_START = re.compile(r"(?:[-*+]|\d{1,9}[.)]|#{1,6}) |```|~~~|[|>]")
"""The start of a Markdown text that begins with a list, heading, table, code or quote."""
_STRONG_CONFIDENCE = 0.5
"""The confidence from which an answer is more likely right than wrong."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question, and the number of chunks to return.

    ``filter`` and ``min_score`` record the restrictions of the search. Retrievers can ignore both,
    as they search an index that is filtered already.
    """

    text: str
    k: int = 10
    filter: Filter | None = None
    min_score: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an evidence path: from a sentence, over an entity, to a chunk."""

    chunk_id: str
    sentence: Span
    sentence_text: str
    entity_id: str
    entity_name: str
    score: float


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """The most likely short answer in a sentence, as offsets into the text of its passage.

    ``probability`` in [0, 1] is that of exactly these words, given that the sentence answers.
    """

    span: Span
    probability: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predictions of a reader model for a passage.

    ``sentences`` has one number per sentence of the passage, in order: the log odds that the answer
    is in this sentence rather than in none. ``answers`` has the best short answer of each sentence,
    None for a sentence without words; it is empty if the reader does not predict short answers.
    """

    sentences: tuple[float, ...]
    answers: tuple[AnswerSpan | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk, with its score and the reasons for it.

    ``scores`` are the named parts of ``score``, and its summands if the retriever adds them.
    ``seeds`` are the names of the entities in the question that led to the chunk, ``path`` the
    evidence path, if any. ``sentences`` are (document span, relevance in [0, 1]) of its sentences,
    the most relevant first. ``matched`` are the ids of the chunks that matched, if the retriever
    returns a wider or narrower passage of the same document. That passage is then ``chunk``, with
    the id of the parent chunk that it is, or else of the best match. ``prediction`` is set if a
    reader model read the chunk.
    """

    chunk: Chunk
    score: float
    scores: dict[str, float] = field(default_factory=dict)
    seeds: tuple[str, ...] = ()
    path: tuple[Step, ...] = ()
    sentences: tuple[tuple[Span, float], ...] = ()
    matched: tuple[str, ...] = ()
    prediction: Prediction | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The hits for a query, best first (score descending, then chunk id).

    ``further`` are hits after these, which only fill the prompt of a language model. ``confidence``
    in [0, 1] is the estimated probability that the hits contain an answer; it is 1 for an outline
    or a count. ``embedder`` is the name of the model whose vectors were used, empty
    if none were. ``paths`` in the graph, best first, and ``results`` of statements come from
    retrievers that return them. ``trace`` describes the steps of a retriever.
    """

    query: Query
    retriever: str
    hits: tuple[Hit, ...] = ()
    confidence: float = 0.0
    notes: tuple[str, ...] = ()
    paths: tuple[GraphPath, ...] = ()
    results: tuple[QueryResult, ...] = ()
    trace: tuple[str, ...] = ()
    embedder: str = ""
    further: tuple[Hit, ...] = ()

    def with_found(self, found: Iterable[Hit]) -> Evidence:
        """Return the evidence with ``found`` as its hits, ranked; those past its number go on.

        It keeps as many as it has, or ``query.k`` if that is more. The others come before
        ``further``.
        """
        ranked = sorted(found, key=lambda hit: (-hit.score, hit.chunk.id))
        shown = max(self.query.k, len(self.hits))
        further = (*ranked[shown:], *self.further)
        return replace(self, hits=tuple(ranked[:shown]), further=further)


@dataclass(frozen=True, slots=True)
class Citation:
    """The source of a sentence of an answer: ``document.text[span.start:span.end] == quote``."""

    number: int
    document: str
    title: str
    section: str
    page: str
    span: Span
    quote: str
    chunk_id: str
    score: float
    time: TimeSpan | None = None
    """When the sentence is spoken, in a recording or subtitles."""
    box: PageBox | None = None
    """Where the sentence is on its page, in a scan or picture."""


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A part of a document that answers, as it is shown.

    ``kind`` is a kind of block, such as "paragraph", "list" or "table"; in an overview also
    "document", "section" or "theme", for a line about one. ``markdown`` is its text with its
    citation marks; ``citation`` is the number of the first one.
    """

    kind: str
    markdown: str
    citation: int


@dataclass(frozen=True, slots=True)
class MemoryCitation:
    """A fact that somebody stated in a conversation, as the source of a statement, such as [M1].

    It holds from ``since`` ("" if unknown) until before ``until`` (None: until now), in ISO format
    with the precision that was stated. ``text`` is the fact as a sentence, ``source`` is where it
    was stated.
    """

    number: int
    subject: str
    relation: str
    object: str
    since: str
    until: str | None
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class StageUsage:
    """The language model usage of one stage of an operation, such as "answer"."""

    stage: str
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reused_calls: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of an operation.

    ``reused_calls`` were answered from the cache, without tokens. ``cached_tokens`` are input
    tokens that the server of the model had cached, at a lower price. ``money`` is in the currency
    of the configured prices, None if a price is unknown. ``stages`` is the language model usage by
    stage, ordered by name.
    """

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    embedded_texts: int = 0
    seconds: float = 0.0
    reused_calls: int = 0
    money: Decimal | None = None
    stages: tuple[StageUsage, ...] = ()
    cached_tokens: int = 0


class Strength(StrEnum):
    """The confidence in an answer as a word."""

    STRONG = "strong"
    """The answer is more likely right than wrong."""
    WEAK = "weak"
    NONE = "none"
    """There is no answer."""


def rate_strength(confidence: float | None, *, answered: bool) -> Strength | None:
    """Return the strength of an answer; None for an answer without a confidence."""
    if not answered:
        return Strength.NONE
    if confidence is None:
        return None
    return Strength.STRONG if confidence >= _STRONG_CONFIDENCE else Strength.WEAK


def lead_gap(text: str) -> str:
    """Return what separates a short answer from the Markdown text that follows it: a dash, or a
    blank line if the text begins with a list, a table or code.
    """
    return "\n\n" if _BLOCK_START.match(text) else " — "


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose ``text`` marks its sources as [1], [2], … in the order of ``citations``.

    In a conversation, remembered facts are sources too: [M1], [M2], … in the order of ``memory``.

    If the sources contain no answer, ``answered`` is False, ``reason`` and ``text`` say so, and
    ``citations`` are the most relevant passages. ``short`` is the short answer, a few words of the
    text, if it is certain enough.

    ``model`` is the name of the model that wrote the text, empty for quoted sentences. ``notes``
    list problems of the model's text, or the reason why a configured model was not used. ``mode``
    is the answer mode, such as "basic" or "global". ``confidence`` in [0, 1] is the estimated
    probability that quoted sentences answer the question correctly; it is None for a count or an
    outline, which only state the contents of the index, and if only remembered facts answer.
    ``pieces`` are the parts of documents that ``text`` consists of, empty if a model wrote it.
    ``results`` are the rows of the statement that answers the question, if any, and of the user's
    own statement over the hits.
    """

    question: str
    text: str
    answered: bool
    citations: tuple[Citation, ...] = ()
    reason: str = ""
    confidence: float | None = 0.0
    retriever: str = ""
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    notes: tuple[str, ...] = ()
    mode: str = "basic"
    results: tuple[QueryResult, ...] = ()
    short: str = ""
    memory: tuple[MemoryCitation, ...] = ()
    pieces: tuple[AnswerPiece, ...] = ()

    @property
    def lead(self) -> str:
        """The short answer as the start of a Markdown text; empty without one."""
        if not self.short:
            return ""
        return f"**{self.short}**{lead_gap(self.text)}"

    @property
    def strength(self) -> Strength | None:
        """The confidence as a word; None for an answer without a confidence."""
        return rate_strength(self.confidence, answered=self.answered)


@dataclass(frozen=True, slots=True)
class Hop:
    """One relation of a path, followed from ``source`` to ``target`` (entity ids).

    ``forward`` is True if the relation has this direction. ``chunk_id`` is a chunk that states the
    relation, at ``span`` of its document if that is known.
    """

    source: str
    source_name: str
    relation: str
    target: str
    target_name: str
    forward: bool
    chunk_id: str
    span: Span | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class GraphPath:
    """Consecutive hops; ``scores`` are the named parts of ``score``.

    ``answers`` are the names of the entities that paths over the same relations lead to, that of
    this path first: the last entity, or the one in between if the path ends at another entity of
    the question. ``walks`` are the paths to the further answers, in their order, as far as cited.
    """

    hops: tuple[Hop, ...]
    score: float
    scores: dict[str, float] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    walks: tuple[tuple[Hop, ...], ...] = ()

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """The entities on the path, in order."""
        return (self.hops[0].source, *(hop.target for hop in self.hops)) if self.hops else ()

    @property
    def text(self) -> str:
        """The path as text: ``A -relation→ B ←relation- C``."""
        if not self.hops:
            return ""
        parts = [self.hops[0].source_name]
        for hop in self.hops:
            arrow = f"-{hop.relation}→" if hop.forward else f"←{hop.relation}-"
            parts += [arrow, hop.target_name]
        return " ".join(parts)
