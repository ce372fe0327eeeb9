"""Queries, retrieved evidence with its evidence paths, and cited answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from knotwork.records.documents import Chunk, Span
from knotwork.records.filters import Filter
from knotwork.records.query_results import QueryResult

LIKELY_RIGHT = 0.5
"""The confidence from which an answer is more likely right than not."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question; ``k`` is how many chunks are wanted.

    ``filter`` is what they had to fulfil, and ``min_score`` the score they had to reach. Retrievers
    need not look at either: they search an index that is filtered already.
    """

    text: str
    k: int = 10
    filter: Filter | None = None
    min_score: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One link of the chain that led to a hit: from a sentence, over an entity, to a chunk."""

    chunk_id: str
    sentence: Span
    sentence_text: str
    entity_id: str
    entity_name: str
    score: float


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """The words of a sentence that most likely answer, as offsets into the text of its passage.

    ``probability`` in [0, 1] is that of these very words, if the sentence answers.
    """

    span: Span
    probability: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a reader predicts for a passage.

    ``sentences`` has a number for each sentence of the passage, in order: the logarithm of the odds
    that the answer is in it, against its being in no sentence. ``answers`` has the words of each
    that answer best, None for a sentence without words; it is empty if the reader knows of none.
    """

    sentences: tuple[float, ...]
    answers: tuple[AnswerSpan | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk, why it is here, and how sure the retriever is.

    ``scores`` are the named parts of ``score`` (their sum, where the retriever adds them).
    ``seeds`` are the names of the question's entities that led here, ``path`` the bridge, if any.
    ``sentences`` are its sentences, the most relevant first: (document span, relevance in [0, 1]).
    ``matched`` are the ids of the chunks that were found, where a pattern gives a wider or narrower
    passage to read than it searched: ``chunk`` is then that passage, cut from the same document,
    with the id of its parent chunk, if it is one, or else of the best of those found.
    ``prediction`` is there where a reader read the chunk.
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

    ``confidence`` in [0, 1] estimates whether the hits hold an answer at all; it is 1 where an
    outline or a count was made from them. ``embedder`` is the model whose vectors took part, empty
    where words alone did. ``paths`` in the graph, best first, and ``results`` of statements are
    evidence of retrievers that find such; ``trace`` lists in words the steps of a retriever.
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


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a sentence of an answer stands: ``document.text[span.start:span.end] == quote``."""

    number: int
    document: str
    title: str
    section: str
    page: str
    span: Span
    quote: str
    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class StageUsage:
    """What one stage of an operation, such as "answer", cost of the language model."""

    stage: str
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reused_calls: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """What an operation cost.

    ``reused_calls`` were known from before, at no tokens. ``money`` is in the currency in which
    prices are written, None where a price is not known. ``stages`` are what each stage took of the
    language model, by name.
    """

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    embedded_texts: int = 0
    seconds: float = 0.0
    reused_calls: int = 0
    money: Decimal | None = None
    stages: tuple[StageUsage, ...] = ()


class Strength(StrEnum):
    """The confidence in an answer, in a word."""

    STRONG = "strong"
    """It is more likely right than not."""
    WEAK = "weak"
    NONE = "none"
    """No answer is given."""


def rate_strength(confidence: float | None, *, answered: bool) -> Strength | None:
    """Return the word for the confidence of an answer; None for an answer without confidence."""
    if not answered:
        return Strength.NONE
    if confidence is None:
        return None
    return Strength.STRONG if confidence >= LIKELY_RIGHT else Strength.WEAK


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose ``text`` marks its sources as [1], [2], … in the order of ``citations``.

    When the sources hold no answer, ``answered`` is False, ``reason`` says why, ``text`` says so in
    words, and ``citations`` are the nearest passages, marked as such by ``answered``. ``short`` are
    the few words that answer, where they are sure; they stand in the text, too.

    ``model`` wrote the text; it is empty where sentences are quoted. ``notes`` say what is wrong
    with what a model wrote, or why none did although one is set. ``mode`` is the way in which it
    was answered, as "basic" or "global". ``confidence`` in [0, 1] is the estimated probability that
    quoted sentences answer the question rightly; it is None for a count or an outline, which state
    what the index holds. ``results`` are the rows of the query that answers, if one does, and those
    of the user's own query over the passages found.
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

    @property
    def lead(self) -> str:
        """The short answer as the beginning of a text in Markdown; empty without one."""
        return f"**{self.short}** — " if self.short else ""

    @property
    def strength(self) -> Strength | None:
        """The confidence in a word; None for an answer that has none."""
        return rate_strength(self.confidence, answered=self.answered)


@dataclass(frozen=True, slots=True)
class Hop:
    """One relation of a path, walked from ``source`` to ``target`` (ids of entities).

    ``forward`` tells whether the relation itself goes that way. It stands in the chunk
    ``chunk_id``, at ``span`` of its document where that is known.
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
    """Hops of which each begins where the last one ends; ``scores`` are parts of ``score``.

    ``answers`` are the names of all that paths over the same relations lead to, this path's own
    first: their ends or, where a path ends at another entity of the question, what lies between.
    ``walks`` are the paths to the answers after the first, in their order, of as many as are cited.
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
        """The path as a person reads it: ``A -relation→ B ←relation- C``."""
        if not self.hops:
            return ""
        parts = [self.hops[0].source_name]
        for hop in self.hops:
            arrow = f"-{hop.relation}→" if hop.forward else f"←{hop.relation}-"
            parts += [arrow, hop.target_name]
        return " ".join(parts)
