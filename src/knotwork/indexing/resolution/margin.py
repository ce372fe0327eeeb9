"""The pairs that rules leave open: what is known of them already, and what a judge is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knotwork.indexing.resolution.describing import Question, describe
from knotwork.indexing.resolution.evidence import Ids, Profile
from knotwork.indexing.resolution.judging import Judge, choose_questions
from knotwork.indexing.resolution.rulings import Ruling
from knotwork.indexing.resolution.survey import Survey
from knotwork.records import RULES_SOURCE, SameAs
from knotwork.stores.base import Store

_FEWEST_TOKENS = 20
"""What a pair costs a judge at least: more pairs than this allows need not be described."""


@dataclass(frozen=True, slots=True)
class Margin:
    """``kept`` pairs have a verdict on just what a judge would be shown today, ``asked`` are the
    questions to ask now, and ``left`` is how many more have no verdict.
    """

    kept: frozenset[Ids]
    asked: tuple[Question, ...]
    left: int


def read_margin(
    store: Store, survey: Survey, held: Mapping[Ids, SameAs], judge: Judge | None
) -> Margin:
    """Return the open pairs of a survey, ``held`` being the decisions there are."""
    opened = {
        pair: ruling
        for pair, ruling in survey.rulings.items()
        if ruling.verdict is None and not (pair in held and held[pair].by_person)
    }
    known = [pair for pair in opened if pair in held and held[pair].source != RULES_SOURCE]
    fresh = [pair for pair in opened if pair not in held or held[pair].source == RULES_SOURCE]
    if judge is None:
        fresh = []
    elif judge.ceiling_tokens is not None:
        fresh.sort(key=lambda pair: (-_worth(pair, opened[pair], survey.profiles), pair))
        fresh = fresh[: judge.ceiling_tokens // _FEWEST_TOKENS]
    questions = _ask_of(store, [*known, *fresh], opened, survey.profiles)
    kept = frozenset(
        pair for pair in known if held[pair].content_key == questions[pair].content_key
    )
    asked: Sequence[Question] = ()
    if judge is not None:
        asked = choose_questions([q for p, q in questions.items() if p not in kept], judge)
    return Margin(kept, tuple(asked), len(opened) - len(kept) - len(asked))


def _ask_of(
    store: Store,
    pairs: Sequence[Ids],
    opened: Mapping[Ids, Ruling],
    profiles: Mapping[str, Profile],
) -> dict[Ids, Question]:
    involved = sorted({entity for pair in pairs for entity in pair})
    lines = describe(store, [profiles[entity] for entity in involved])
    return {
        (one, other): Question(
            (one, other),
            lines[one],
            lines[other],
            opened[one, other].reason,
            _worth((one, other), opened[one, other], profiles),
        )
        for one, other in pairs
    }


def _worth(pair: Ids, ruling: Ruling, profiles: Mapping[str, Profile]) -> float:
    """Return how many chunks a verdict would bring to the other name, were it as likely as the
    ruling says.
    """
    return ruling.score * min(profiles[entity].entity.chunk_count for entity in pair)
