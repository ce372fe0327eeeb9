"""What the tools return, as typed objects; their fields are named as in the output of `--json`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from knotwork.records import Strength


class Passage(BaseModel):
    """A passage that was found."""

    document: str = Field(description="The uri of its document")
    title: str
    section: str
    start: int = Field(description="First character in the text of the document")
    end: int = Field(description="One after the last character")
    text: str
    score: float
    chunk_id: str
    resource: str = Field(description="The resource that holds exactly this passage")


class Link(BaseModel):
    """One relation of a path, with the passage that states it."""

    source: str
    relation: str
    target: str
    chunk_id: str


class Trail(BaseModel):
    """A path in the knowledge graph."""

    text: str
    score: float
    links: list[Link]


class Connections(BaseModel):
    """Paths between two names, best first; none where none of at most five relations is there."""

    paths: list[Trail]


class Rows(BaseModel):
    """The rows of a statement of a query language."""

    language: str
    statement: str
    columns: list[str]
    rows: list[list[Any]]
    truncated: bool = Field(description="Whether there were more rows than were asked for")
    place: str = Field(description="The graph or the tables that the statement read")
    source: str = Field(description="The retriever that made it, or retrieval_query; may be empty")
    parameters: dict[str, Any]


class Passages(BaseModel):
    """What was found for a question, best first."""

    question: str
    retriever: str
    confidence: float = Field(description="0 to 1: whether the passages hold an answer at all")
    passages: list[Passage]
    paths: list[Trail]
    results: list[Rows]
    notes: list[str]


class Source(BaseModel):
    """Where a sentence of an answer stands: these characters of that document are the quote."""

    number: int
    document: str
    title: str
    section: str
    page: str
    start: int
    end: int
    quote: str
    chunk_id: str
    score: float
    resource: str


class Reply(BaseModel):
    """An answer, in whose text [1], [2], … are its sources."""

    question: str
    text: str
    short: str = Field(description="The few words that answer, where they are sure; else empty")
    answered: bool = Field(description="False: the documents hold no answer; see reason")
    reason: str
    confidence: float | None = Field(
        description="0 to 1: the estimated probability that it is right; null for outlines, counts"
    )
    strength: Strength | None = Field(
        description="The same in a word: strong, weak or none; null where confidence is"
    )
    sources: list[Source]
    results: list[Rows] = Field(
        description="The rows of the query that answers, if one does, and of retrieval_query"
    )
    mode: str
    model: str = Field(description="The model that wrote it; empty where sentences are quoted")
    notes: list[str]


class Thing(BaseModel):
    """An entity of the knowledge graph."""

    id: str
    name: str
    label: str
    type: str


class Relation(BaseModel):
    """A relation between two entities, with the chunks that state it."""

    source: str
    relation: str
    target: str
    weight: float
    chunk_ids: list[str]


class Neighbourhood(BaseModel):
    """What lies around names, strongest first: relations that chunks state between names, and pairs
    of names that stand in one sentence.
    """

    things: list[Thing]
    relations: list[Relation]
    co_occurrences: list[Relation]


class Finding(BaseModel):
    """A statement of a report, and the passages that support it."""

    text: str
    resources: list[str]


class Report(BaseModel):
    """What a group of entities that belong together is about."""

    id: str
    level: int = Field(description="0 is the topmost")
    parent: str | None
    size: int = Field(description="How many entities are in it")
    members: list[str] = Field(description="The names of the most important ones")
    title: str
    summary: str
    rating: float
    findings: list[Finding]
    resource: str


class Reports(BaseModel):
    """Communities with their reports."""

    communities: list[Report]


class SameThing(BaseModel):
    """A thing that has several names."""

    names: list[str]
    chunks: int


class ApartPair(BaseModel):
    """Two names that are held apart."""

    first: str
    second: str
    reason: str


class Homonym(BaseModel):
    """A name that means several things: the documents of each meaning."""

    name: str
    documents: list[list[str]]


class Names(BaseModel):
    """Which names mean one thing, and which mean several."""

    things: list[SameThing]
    apart: list[ApartPair]
    homonyms: list[Homonym]
    compared: bool = Field(description="Whether names were ever compared")


class Unread(BaseModel):
    """A file that could not be read, and why."""

    uri: str
    reason: str
    message: str


class Indexed(BaseModel):
    """What a run of indexing did."""

    added: int
    changed: int
    unchanged: int
    removed: list[str]
    unread: list[Unread]
    documents: int = Field(description="Documents in the index now")
    chunks: int
    entities: int
    notes: list[str]
