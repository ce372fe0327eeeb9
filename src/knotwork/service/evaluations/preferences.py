"""Preferences of people between answers, a line each in a file beside the index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from knotwork.evaluation.significance import compare_paired
from knotwork.service.shapes.preferences import PreferencePair, PreferenceShape
from knotwork.service.workspaces import EVALUATIONS, Workspace

_FILE = "preferences.jsonl"


def keep_preference(workspace: Workspace, preference: PreferenceShape) -> None:
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
    return [_describe(pair, values) for pair, values in pairs]


def _describe(pair: tuple[str, str], signs: Sequence[float]) -> PreferencePair:
    compared = compare_paired(signs, [0.0] * len(signs))
    return PreferencePair(
        first=pair[0],
        second=pair[1],
        wins=compared.wins,
        ties=len(signs) - compared.wins - compared.losses,
        losses=compared.losses,
        p_value=compared.p_value,
    )
