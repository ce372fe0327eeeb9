"""Request and response models of conversations and their memory."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from knotwork._extensions.server.schemas.answers import (
    AnswerOptions,
    FilterText,
    Passages,
    RequestModel,
    Retriever,
    Text,
    TurnShape,
)
from knotwork._text.dates import is_before, read_moment
from knotwork.agents._shapes import FactShape

MOST_NAME_CHARACTERS = 500


def _read_date(text: str) -> str:
    moment = read_moment(text)
    if not moment:
        raise ValueError("is not a date; write it as 2024-02-01, 2024-02 or 2024")
    return moment


Name = Annotated[Text, Field(max_length=MOST_NAME_CHARACTERS)]
Moment = Annotated[str, Field(max_length=40), AfterValidator(_read_date)]
"""A day, a month or a year, such as 2024-02-01, 2024-02 or 2024."""


class ChatMessage(AnswerOptions):
    """A message of a conversation: a question, a statement of facts, or both."""

    message: Text
    turns: list[TurnShape] = Field(
        default=[],
        max_length=20,
        description="Earlier questions of the conversation with their answers, oldest first; a "
        "statement is the answer to an empty question.",
    )
    retriever: Retriever = None
    k: Passages = None
    filters: FilterText | None = Field(
        None, description="Filter for documents and pages, as in …/ask."
    )
    offers_only: bool = Field(
        default=False,
        description="Whether to offer facts also if the message asks to remember them, as for "
        "messages that come from a link.",
    )


class NewFact(RequestModel):
    """A fact to remember: Ann Lee | lives in | Oslo."""

    subject: Name
    relation: Name
    object: Name
    since: Moment | None = Field(None, description="When it began; by default now.")
    until: Moment | None = Field(None, description="When it ended.")
    source: str = Field("api", max_length=200, description="Where the fact comes from.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.until and not (self.since and is_before(self.since, self.until)):
            raise ValueError("`until` needs a `since` before it")
        return self


class NewFacts(RequestModel):
    """Remember the facts of a statement, or one fact."""

    statement: Text | None = Field(None, description="A text such as “Ann Lee lives in Oslo.”")
    fact: NewFact | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.statement is None) == (self.fact is None):
            raise ValueError("give either `statement` or `fact`")
        return self


class FactList(BaseModel):
    """Facts of the key, by subject, relation and time, or the newest first if a name was given."""

    facts: list[FactShape]
    total: int


class DeletedFacts(BaseModel):
    """The number of deleted facts."""

    deleted: int
