"""Which answer a person preferred, as JSON."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator

from knotwork.service.shapes.answers import Asked, Text

RetrieverName = Annotated[Text, Field(max_length=500)]


class NewPreference(Asked):
    """Tell which of several answers to one question was the best; no ``winner`` is a tie."""

    question: Annotated[Text, Field(max_length=8_000)]
    retrievers: Annotated[list[RetrieverName], Field(min_length=2, max_length=6)]
    winner: RetrieverName | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.retrievers)) < len(self.retrievers):
            raise ValueError("`retrievers` names one twice")
        if self.winner is not None and self.winner not in self.retrievers:
            raise ValueError("`winner` is none of `retrievers`")
        return self


class PreferenceShape(BaseModel):
    """What was preferred; ``winner`` is null for a tie."""

    created: str
    question: str
    retrievers: list[str]
    winner: str | None


class PreferencePair(BaseModel):
    """Two retrievers over all comparisons that had both: how often the first was preferred, and
    the chance of such a difference between equals.
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    p_value: float


class PreferenceList(BaseModel):
    """Pairs, the most often compared first, and the newest preferences."""

    pairs: list[PreferencePair]
    latest: list[PreferenceShape]
    total: int
