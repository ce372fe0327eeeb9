"""Writing down what a run decided, and what that decides between others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations

from knotwork.indexing.resolution.apartness import rule_apart
from knotwork.indexing.resolution.describing import Question
from knotwork.indexing.resolution.evidence import Ids, Profile
from knotwork.indexing.resolution.survey import Survey
from knotwork.records import RULES_SOURCE, SameAs, Verdict, content_id
from knotwork.stores.base import Store
from knotwork.stores.homonyms import StoresHomonyms
from knotwork.stores.resolutions import ResolutionStore

RULES_VERSION = "rules-2"
"""Changes whenever the rules would decide otherwise: the next run then looks at every pair."""

_JUDGED_SCORE = 0.85
"""How sure a model's verdict is, below every rule's: of two that contradict, the rule counts."""

_LARGEST_GROUP = 200


def record_rulings(
    resolutions: ResolutionStore, survey: Survey, held: Mapping[Ids, SameAs], kept: Collection[Ids]
) -> None:
    """Put what the rules made one, and remove what neither they nor a judge would decide today.

    Decisions by hand stay, and those of pairs that the survey did not look at.
    """
    fresh = {
        pair: SameAs(
            *pair,
            Verdict.SAME,
            RULES_SOURCE,
            ruling.reason,
            ruling.score,
            _key(pair, survey.profiles),
        )
        for pair, ruling in survey.rulings.items()
        if ruling.verdict is Verdict.SAME and not (pair in held and held[pair].by_person)
    }
    old = [
        pair
        for pair, decision in held.items()
        if survey.covers(pair)
        and not decision.by_person
        and pair not in fresh
        and pair not in kept
        and not _is_conflict(decision)
    ]
    resolutions.remove(old)
    resolutions.put(decision for pair, decision in fresh.items() if held.get(pair) != decision)


def record_homonyms(store: Store, survey: Survey, touched: Collection[str]) -> None:
    """Put which names mean several things, of all entities that the survey read or that changed."""
    if isinstance(store, StoresHomonyms):
        among = None if survey.looked_at is None else survey.read.union(touched)
        store.homonyms.replace(survey.homonyms.values(), among=among)


def judged(question: Question, verdict: Verdict, source: str) -> SameAs:
    """Return a judge's verdict as a decision."""
    return SameAs(
        *question.pair, verdict, source, question.reason, _JUDGED_SCORE, question.content_key
    )


def record_conflicts(resolutions: ResolutionStore, profiles: Mapping[str, Profile]) -> None:
    """Put which entities that decisions join, perhaps by way of others, the rules hold apart.

    So a chain from 吉林省 over 吉林 to 吉林市 does not become one thing: `form_groups` refuses its
    least sure link. What rules hold apart elsewhere needs no record.
    """
    decisions = {decision.pair: decision for decision in resolutions.decisions()}
    fresh: dict[Ids, SameAs] = {}
    for entities in _chains(decision for decision in decisions.values() if decision.joins):
        known = [entity for entity in entities if entity in profiles][:_LARGEST_GROUP]
        for pair in combinations(known, 2):
            reason = _why_apart(profiles[pair[0]], profiles[pair[1]])
            if reason and (pair not in decisions or _is_conflict(decisions[pair])):
                fresh[pair] = SameAs(
                    *pair, Verdict.DIFFERENT, RULES_SOURCE, reason, 1.0, _key(pair, profiles)
                )
    old = [p for p, decision in decisions.items() if _is_conflict(decision) and p not in fresh]
    resolutions.remove(old)
    resolutions.put(decision for pair, decision in fresh.items() if decisions.get(pair) != decision)


def _why_apart(one: Profile, other: Profile) -> str:
    ruling = rule_apart(one, other)
    if ruling is not None:
        return ruling.reason
    forms = {one.shape.legal, other.shape.legal}
    if len(forms) == 2 and "" not in forms and one.shape.squeezed == other.shape.squeezed:
        return f"legal forms differ: {' and '.join(sorted(forms))}"
    return ""


def _is_conflict(decision: SameAs) -> bool:
    return (
        decision.source == RULES_SOURCE
        and decision.verdict is Verdict.DIFFERENT
        and not decision.undone
    )


def _chains(joins: Iterable[SameAs]) -> list[list[str]]:
    """Return the entities that joins connect, directly or not, each group ascending."""
    beside: defaultdict[str, list[str]] = defaultdict(list)
    for decision in joins:
        beside[decision.first].append(decision.second)
        beside[decision.second].append(decision.first)
    seen: set[str] = set()
    chains: list[list[str]] = []
    for start in sorted(beside):
        if start in seen:
            continue
        seen.add(start)
        chain = [start]
        for entity in chain:  # grows while it is walked
            fresh = [other for other in beside[entity] if other not in seen]
            seen.update(fresh)
            chain.extend(dict.fromkeys(fresh))
        chains.append(sorted(chain))
    return chains


def _key(pair: Ids, profiles: Mapping[str, Profile]) -> str:
    names = (f"{profiles[i].entity.name} {profiles[i].entity.type}" for i in pair)
    return content_id(RULES_VERSION, *names)
