"""Routes for preferences: which of several answers a person preferred. Stored as JSON Lines."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from typing import Annotated, Self

from fastapi import Query
from pydantic import BaseModel, Field, ValidationError, model_validator

from knotwork._extensions.evaluation.metrics import compare_paired
from knotwork._extensions.server.access import ReadWhole, Routes, Server, WriteWorkspace
from knotwork._extensions.server.job_store import utc_now
from knotwork._extensions.server.private_files import make_private_folder, open_private
from knotwork._extensions.server.schemas.answers import RequestModel, Text
from knotwork._extensions.server.workspaces import EVALUATIONS, Workspace
from knotwork.errors import StoreError

RetrieverName = Annotated[Text, Field(max_length=500)]


class NewPreference(RequestModel):
    """Record which of several answers to a question was best; without ``winner``, a tie."""

    question: Annotated[Text, Field(max_length=8_000)]
    retrievers: Annotated[list[RetrieverName], Field(min_length=2, max_length=6)]
    winner: RetrieverName | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.retrievers)) < len(self.retrievers):
            raise ValueError("`retrievers` contains a duplicate")
        if self.winner is not None and self.winner not in self.retrievers:
            raise ValueError("`winner` must be one of `retrievers`")
        return self


class PreferenceShape(BaseModel):
    """A recorded preference; ``winner`` is null for a tie."""

    created: str
    question: str
    retrievers: list[str]
    winner: str | None


class PreferencePair(BaseModel):
    """Two retrievers over all comparisons with both: how often the first was preferred, and the
    p-value of the difference.
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    p_value: float


class PreferenceList(BaseModel):
    """Pairs, most often compared first, and the latest preferences, newest first."""

    pairs: list[PreferencePair]
    latest: list[PreferenceShape]
    total: int


router = Routes("evaluations")


@router.post("/workspaces/{workspace}/preferences", status_code=201)
def add_preference(
    server: Server, workspace: WriteWorkspace, asked: NewPreference
) -> PreferenceShape:
    """Record which retriever gave the best answer to a question in a comparison."""
    server.jobs.check()
    preference = PreferenceShape(created=utc_now(), **asked.model_dump())
    store_preference(workspace, preference)
    return preference


@router.get("/workspaces/{workspace}/preferences")
def list_preferences(
    workspace: ReadWhole,
    limit: Annotated[int, Query(ge=0, le=1_000, description="Maximum of preferences.")] = 50,
) -> PreferenceList:
    """Count how often each retriever was preferred to each other, and list the latest choices."""
    stored = read_preferences(workspace)
    return PreferenceList(
        pairs=pair_preferences(stored),
        latest=stored[::-1][:limit],
        total=len(stored),
    )


_FILE = "preferences.jsonl"


def store_preference(workspace: Workspace, preference: PreferenceShape) -> None:
    """Append a preference to the file of a workspace. Raises StoreError if it cannot be saved."""
    folder = workspace.files / EVALUATIONS
    line = preference.model_dump_json().encode() + b"\n"
    try:
        make_private_folder(folder)
        with open_private(folder / _FILE, append=True) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            is_cut_off = file.read(1) not in (b"", b"\n")
            file.write((b"\n" if is_cut_off else b"") + line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(
            f"The preference could not be saved: {error.strerror}.",
            fix="Check the free space and the permissions of the server's folder, and try again.",
        ) from error


def read_preferences(workspace: Workspace) -> list[PreferenceShape]:
    """Return all preferences of a workspace, oldest first; lines that were cut off are ignored."""
    try:
        lines = (workspace.files / EVALUATIONS / _FILE).read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    stored = []
    for line in lines:
        with suppress(ValidationError):
            if line.endswith(b"\n"):
                stored.append(PreferenceShape.model_validate_json(line))
    return stored


def pair_preferences(preferences: Sequence[PreferenceShape]) -> list[PreferencePair]:
    """Count the preferences between each two retrievers, most often compared first.

    A winner is preferred to each of the others. Nothing follows for the others among themselves.
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
