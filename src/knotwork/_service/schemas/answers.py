"""Request and response models of questions, evidence and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from knotwork.records import (
    Answer,
    Citation,
    Document,
    Evidence,
    GraphPath,
    Hit,
    QueryResult,
    RowSource,
    Strength,
    Usage,
)
from knotwork.records._evidence import rate_strength

DocumentsById = Mapping[str, Document]
"""Documents by id."""

MOST_PASSAGES = 200

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
MOST_FILTER_CHARACTERS = 10_000
FilterText = Annotated[str, Field(max_length=MOST_FILTER_CHARACTERS)]
Number = Annotated[int, Field(ge=0)]
Offsets = Annotated[
    list[int],
    Field(min_length=2, max_length=2, description="From and to, in characters (code points)."),
]


class RequestModel(BaseModel):
    """The base of request bodies: unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")


class SearchRequest(RequestModel):
    """Find passages."""

    question: Text
    retriever: Annotated[str, Field(max_length=500)] | None = Field(
        None, description="A name from GET /api/v1/retrievers, or a composition of several."
    )
    k: int | None = Field(None, ge=1, le=MOST_PASSAGES, description="Maximum of passages.")
    filters: FilterText | dict[str, Any] | None = Field(
        None,
        description="Filter for documents and pages: a text such as \"author = 'Ann' and date >= "
        '2023", or an object such as {"author": "Ann", "date": {"gte": 2023}}. '
        "GET /api/v1/workspaces/{workspace}/fields lists the fields.",
    )
    min_score: float | None = Field(
        None, description="Minimum score of a passage, on the scale of the retriever."
    )
    retrieval_query: Annotated[str, Field(max_length=20_000)] | None = Field(
        None,
        description="Read-only Cypher over the passages found. `node` is a chunk and `score` its "
        "score: MATCH (node)-[:MENTIONS]->(e:Entity) RETURN e.name, score. Its rows are the last "
        "of `results`; chunks in these rows are added to the passages.",
    )
    query_params: dict[str, Any] | None = Field(
        None, description="Parameters of `retrieval_query`; `$question` is the question."
    )


class TurnShape(RequestModel):
    """An earlier question of a conversation, and its answer."""

    question: str = Field(max_length=2_000)
    answer: str = Field("", max_length=20_000)


class AskRequest(SearchRequest):
    """Answer a question."""

    mode: str = Field("auto", max_length=40, description="auto, basic, local, global …")
    expand: bool = Field(default=False, description="Also search by keywords from the model.")
    use_llm: bool = Field(default=True, description="Whether to use a language model.")
    budget: str = Field(
        "", max_length=40, description='Ceiling in tokens, such as "3k", or in money.'
    )
    turns: list[TurnShape] = Field(
        default=[],
        max_length=20,
        description="Earlier questions of the conversation with their answers, oldest first.",
    )


class CitationShape(BaseModel):
    """A source of an answer: the characters ``span`` of the document are ``quote``."""

    number: int
    document: str
    document_id: str
    title: str
    section: str
    page: str
    span: Offsets
    quote: str
    chunk_id: str
    score: float

    @classmethod
    def of(cls, citation: Citation) -> Self:
        """Build the JSON of a citation."""
        return cls(
            number=citation.number,
            document=citation.document,
            document_id=Document(citation.document, "").id,
            title=citation.title,
            section=citation.section,
            page=citation.page,
            span=list(citation.span),
            quote=citation.quote,
            chunk_id=citation.chunk_id,
            score=round(citation.score, 4),
        )


class UsageShape(BaseModel):
    """The cost of an operation. Money is text, because a float is not exact."""

    model_calls: int
    input_tokens: int
    output_tokens: int
    reused_calls: int
    seconds: float
    money: str | None

    @classmethod
    def of(cls, usage: Usage) -> Self:
        """Build the JSON of a usage."""
        return cls(
            model_calls=usage.model_calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            reused_calls=usage.reused_calls,
            seconds=round(usage.seconds, 4),
            money=None if usage.money is None else str(usage.money),
        )


class RowSourceShape(BaseModel):
    """A row of an indexed file that a result was computed from."""

    document: str
    document_id: str
    table: str
    row: int = Field(description="Row number in the file or sheet, from 1, including the header.")
    span: Offsets

    @classmethod
    def of(cls, source: RowSource) -> Self:
        """Build the JSON of a row."""
        return cls(
            document=source.document,
            document_id=Document(source.document, "").id,
            table=source.table,
            row=source.row,
            span=list(source.span),
        )


class ResultShape(BaseModel):
    """The rows that a query returned."""

    language: str
    statement: str
    parameters: dict[str, Any]
    columns: list[str]
    rows: list[list[Any]]
    truncated: bool
    seconds: float
    place: str = Field(description="The graph or the tables that the statement read.")
    source: str = Field(
        "", description="The retriever that wrote the statement, or retrieval_query."
    )
    confidence: float
    row_sources: list[RowSourceShape] = Field(
        description="The first rows of files that the result was computed from."
    )
    row_count: int | None = Field(description="The number of all such rows, if known.")

    @classmethod
    def of(cls, result: QueryResult) -> Self:
        """Build the JSON of a query result."""
        return cls(
            language=result.language,
            statement=result.statement,
            parameters=dict(result.parameters),
            columns=list(result.columns),
            rows=[list(row) for row in result.rows],
            truncated=result.truncated,
            seconds=round(result.seconds, 4),
            place=result.place,
            source=result.source,
            confidence=round(result.confidence, 4),
            row_sources=[RowSourceShape.of(source) for source in result.row_sources],
            row_count=result.row_count,
        )


class AnswerShape(BaseModel):
    """An answer; if ``answered`` is false, its citations are the nearest passages."""

    question: str
    answer: str
    short: str = Field("", description="The answer in a few words, if it is certain.")
    answered: bool
    reason: str
    confidence: float | None = Field(
        description="0 to 1: the estimated probability that the answer is right. Null for outlines "
        "and counts."
    )
    strength: Strength | None = Field(
        description="strong: more likely right than not; weak; none: no answer. Null if confidence "
        "is null."
    )
    retriever: str
    mode: str
    model: str
    notes: list[str]
    citations: list[CitationShape]
    results: list[ResultShape] = Field(
        description="The rows of the query that answers the question, and of `retrieval_query`."
    )
    usage: UsageShape

    @model_validator(mode="before")
    @classmethod
    def _add_strength(cls, values: object) -> object:
        """Add the strength to an answer that an older version stored in an evaluation."""
        if not isinstance(values, dict) or "strength" in values:
            return values
        confidence, answered = values.get("confidence", 0.0), values.get("answered", False)
        return {**values, "strength": rate_strength(confidence, answered=answered)}

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """Build the JSON of an answer."""
        return cls(
            question=answer.question,
            answer=answer.text,
            short=answer.short,
            answered=answer.answered,
            reason=answer.reason,
            confidence=None if answer.confidence is None else round(answer.confidence, 4),
            strength=answer.strength,
            retriever=answer.retriever,
            mode=answer.mode,
            model=answer.model,
            notes=list(answer.notes),
            citations=[CitationShape.of(citation) for citation in answer.citations],
            results=[ResultShape.of(result) for result in answer.results],
            usage=UsageShape.of(answer.usage),
        )


class StepShape(BaseModel):
    """A step of an evidence path: a sentence that leads via an entity to the next passage."""

    chunk_id: str
    sentence: Offsets
    sentence_text: str
    entity_id: str
    entity_name: str
    score: float


class SentenceShape(BaseModel):
    """A sentence of a passage that is relevant to the question."""

    span: Offsets
    relevance: float


class HitShape(BaseModel):
    """A passage, and why it was found; spans are offsets in the document."""

    rank: int
    chunk_id: str
    document: str
    document_id: str
    title: str
    section: str
    span: Offsets
    text: str
    score: float
    scores: dict[str, float]
    seeds: list[str]
    path: list[StepShape]
    sentences: list[SentenceShape]

    @classmethod
    def of(cls, rank: int, hit: Hit, documents: DocumentsById) -> Self:
        """Build the JSON of a hit."""
        document = documents.get(hit.chunk.document_id)
        return cls(
            rank=rank,
            chunk_id=hit.chunk.id,
            document=document.uri if document else "",
            document_id=hit.chunk.document_id,
            title=hit.chunk.document_title,
            section=" > ".join(hit.chunk.headings),
            span=list(hit.chunk.span),
            text=hit.chunk.text,
            score=hit.score,
            scores=dict(hit.scores),
            seeds=list(hit.seeds),
            path=[
                StepShape(
                    chunk_id=step.chunk_id,
                    sentence=list(step.sentence),
                    sentence_text=step.sentence_text,
                    entity_id=step.entity_id,
                    entity_name=step.entity_name,
                    score=step.score,
                )
                for step in hit.path
            ],
            sentences=[
                SentenceShape(span=list(span), relevance=relevance)
                for span, relevance in hit.sentences
            ],
        )


class HopShape(BaseModel):
    """One relation of a path, and the passage that states it."""

    source: str
    source_name: str
    relation: str
    target: str
    target_name: str
    forward: bool
    chunk_id: str
    span: Offsets | None
    weight: float


class PathShape(BaseModel):
    """A path in the graph."""

    text: str
    score: float
    scores: dict[str, float]
    hops: list[HopShape]

    @classmethod
    def of(cls, path: GraphPath) -> Self:
        """Build the JSON of a path."""
        hops = [
            HopShape(
                source=hop.source,
                source_name=hop.source_name,
                relation=hop.relation,
                target=hop.target,
                target_name=hop.target_name,
                forward=hop.forward,
                chunk_id=hop.chunk_id,
                span=None if hop.span is None else list(hop.span),
                weight=hop.weight,
            )
            for hop in path.hops
        ]
        return cls(text=path.text, score=path.score, scores=dict(path.scores), hops=hops)


class EvidenceShape(BaseModel):
    """The passages, paths and rows that a retriever found, best first."""

    question: str
    filter: str = Field(description="The applied filter as a text; empty for none.")
    retriever: str
    confidence: float
    hits: list[HitShape]
    paths: list[PathShape]
    results: list[ResultShape]
    trace: list[str]
    notes: list[str]

    @classmethod
    def of(cls, evidence: Evidence, documents: DocumentsById) -> Self:
        """Build the JSON of evidence; ``documents`` are those of the hits."""
        return cls(
            question=evidence.query.text,
            filter=str(evidence.query.filter or ""),
            retriever=evidence.retriever,
            confidence=round(evidence.confidence, 4),
            hits=[HitShape.of(n, hit, documents) for n, hit in enumerate(evidence.hits, start=1)],
            paths=[PathShape.of(path) for path in evidence.paths],
            results=[ResultShape.of(result) for result in evidence.results],
            trace=list(evidence.trace),
            notes=list(evidence.notes),
        )
