"""Routes of preferences: which of several answers a person preferred, one line each in a file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, model_validator

from knotwork.evaluation.metrics import compare_paired
from knotwork.service.access import ReadWorkspace, Server, WriteWorkspace
from knotwork.service.evaluation_store import utc_now
from knotwork.service.responses import Envelope, wrap
from knotwork.service.schemas.answers import RequestModel, Text
from knotwork.service.workspaces import EVALUATIONS, Workspace

RetrieverName = Annotated[Text, Field(max_length=500)]


class NewPreference(RequestModel):
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


router = APIRouter(tags=["evaluations"])


@router.post("/workspaces/{workspace}/preferences", status_code=201)
async def add_preference(
    server: Server, workspace: WriteWorkspace, asked: NewPreference
) -> Envelope[PreferenceShape]:
    """Keep which retriever's answer to a question was the best, of several side by side."""
    server.jobs.check()
    preference = PreferenceShape(created=utc_now(), **asked.model_dump())
    await server.threads.run(store_preference, workspace, preference)
    return wrap(preference)


@router.get("/workspaces/{workspace}/preferences")
async def list_preferences(
    server: Server,
    workspace: ReadWorkspace,
    limit: Annotated[int, Query(ge=0, le=1_000, description="Newest ones told.")] = 50,
) -> Envelope[PreferenceList]:
    """Tell how often each retriever was preferred to each other, and the newest preferences."""

    def read() -> PreferenceList:
        known = read_preferences(workspace)
        return PreferenceList(
            pairs=pair_preferences(known),
            latest=known[::-1][:limit],
            total=len(known),
        )

    return wrap(await server.threads.run(read))


_FILE = "preferences.jsonl"


def store_preference(workspace: Workspace, preference: PreferenceShape) -> None:
    """Add a preference to those of a workspace."""
    folder = workspace.files / EVALUATIONS
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _FILE).open("ab") as file:
        file.write(preference.model_dump_json().encode() + b"\n")


def read_preferences(workspace: Workspace) -> list[PreferenceShape]:
    """Return all preferences of a workspace, the oldest first; a broken line does not count."""
    try:
        lines = (workspace.files / EVALUATIONS / _FILE).read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    whole = (line for line in lines if line.endswith(b"\n"))
    return [PreferenceShape.model_validate_json(line) for line in whole]


def pair_preferences(preferences: Sequence[PreferenceShape]) -> list[PreferencePair]:
    """Return for each two retrievers which was preferred how often, those with most first.

    A winner is preferred to each of the others, which tell nothing of one another.
    """
    signs: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for preference in preferences:
        for first, second in combinations(sorted(preference.retrievers), 2):
            if preference.winner is None:
                signs[first, second].append(0.0)
            elif preference.winner in (first, second):
                signs[first, second].append(1.0 if preference.winner == first else -1.0)
    pairs = sorted(signs.items(), key=lambda item: (-len(item[1]), item[0]))
    return [_describe_pair(pair, values) for pair, values in pairs]


def _describe_pair(pair: tuple[str, str], signs: Sequence[float]) -> PreferencePair:
    compared = compare_paired(signs, [0.0] * len(signs))
    return PreferencePair(
        first=pair[0],
        second=pair[1],
        wins=compared.wins,
        ties=len(signs) - compared.wins - compared.losses,
        losses=compared.losses,
        p_value=compared.p_value,
    )
