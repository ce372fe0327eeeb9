"""Resolve entities: decide which are the same, record, undo and list decisions.

Entities are never changed. A decision to merge two is a record with its reason, and readers use the
groups that decisions form. Rules decide the certain pairs; a model may judge the rest, which
otherwise stay separate.

A decision on a pair depends on the chunks that mention one of the two, or a name that one of them
abbreviates. So an update compares only the pairs that it touched and decides as a fresh index
would, except that the judge's token ceiling applies to each run.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from knotwork._indexing.resolution.name_evidence import EntityPair, EntityProfile
from knotwork._indexing.resolution.pairs import Margin, PairSurvey, survey_pairs
from knotwork._indexing.resolution.rules import rule_apart
from knotwork._registry import PARTS
from knotwork._run import Steps, Verb
from knotwork._stores.base import Store, require_homonyms, require_resolutions
from knotwork._stores.capabilities import ResolutionStore
from knotwork._stores.resolutions import RULES_META, form_groups
from knotwork.records import (
    PERSON_SOURCE,
    RULES_SOURCE,
    Entity,
    Homonym,
    SameAs,
    Verdict,
    content_id,
)

if TYPE_CHECKING:
    from knotwork._extensions.model_indexing.judge import Judge

JUDGE_META = "resolution.judge"


@dataclass(frozen=True, slots=True)
class ResolutionChanges:
    """Counts of a run.

    Of ``pairs`` candidates, rules merged ``same``, kept ``apart`` others, and left ``margin`` open.
    Of the open ones, the judge decided ``judged`` now and merged ``judged_same`` of them; ``kept``
    had been judged before, ``undecided`` got no verdict, and ``left`` were not asked. In the whole
    index, ``refused`` merges contradict another decision, and ``groups`` entities have several
    names. ``homonyms`` are the examined names with several meanings.
    """

    pairs: int = 0
    same: int = 0
    apart: int = 0
    margin: int = 0
    judged: int = 0
    judged_same: int = 0
    kept: int = 0
    undecided: int = 0
    left: int = 0
    refused: int = 0
    groups: int = 0
    calls: int = 0
    seconds: float = 0.0
    homonyms: tuple[Homonym, ...] = ()


@Verb
def resolve_entities(
    store: Store, *, judge: Judge | None = None, changed: Collection[str] | None = None
) -> Steps[ResolutionChanges]:
    """Decide which entities are the same; yield how many pairs were judged, of how many.

    Pairs are compared if one entity is among ``changed`` or was touched since the last run
    (`ResolutionStore.touch`). All pairs are compared in the first run, after a change of the rules,
    and if a judge is new. Manual decisions are kept. A judged pair is asked again only if its
    question has changed. Raises MissingCapability if the store cannot hold merged entities or
    homonyms, and as `ChatModel.complete` does; earlier verdicts are stored, and the next run
    continues.
    """
    started = time.perf_counter()
    resolutions = require_resolutions(store)
    stored_homonyms = require_homonyms(store)
    touched = resolutions.touched()
    everything = must_see_all(store, with_judge=judge is not None)
    survey = survey_pairs(store, None if everything else {*touched, *(changed or ())})
    held = {decision.pair: decision for decision in resolutions.decisions()}
    margin = _read_margin(store, survey, held, judge)
    with store.transaction():
        record_rulings(resolutions, survey, held, margin.kept)
        # Those among the entities that the survey read or that changed are replaced.
        among = None if survey.looked_at is None else survey.read.union(touched)
        stored_homonyms.replace(survey.homonyms.values(), among=among)
    calls, verdicts = 0, list[Verdict]()
    if judge is not None and margin.asked:
        calls, verdicts = yield from judge.decide(resolutions, margin.asked)
    with store.transaction():
        record_conflicts(resolutions, survey.profiles)
        resolutions.settle(touched)
        if everything or touched or changed:
            name = judge.model.name if judge is not None else ""
            store.set_meta({RULES_META: RULES_VERSION, JUDGE_META: name})
    rulings = [ruling.verdict for ruling in survey.rulings.values()]
    return ResolutionChanges(
        pairs=survey.pairs,
        same=rulings.count(Verdict.SAME),
        apart=survey.apart,
        margin=rulings.count(None),
        judged=len(verdicts),
        judged_same=verdicts.count(Verdict.SAME),
        kept=len(margin.kept),
        undecided=len(margin.asked) - len(verdicts),
        left=margin.left,
        refused=_count_refused(store, resolutions),
        groups=len(set(resolutions.groups().values())),
        calls=calls,
        seconds=time.perf_counter() - started,
        homonyms=tuple(survey.homonyms.values()),
    )


def _read_margin(
    store: Store, survey: PairSurvey, held: Mapping[EntityPair, SameAs], judge: Judge | None
) -> Margin:
    """Return the open pairs of a survey; ``held`` are the stored decisions."""
    opened = {
        pair: ruling
        for pair, ruling in survey.rulings.items()
        if ruling.verdict is None and not (pair in held and held[pair].by_person)
    }
    judged = any(pair in held and held[pair].source != RULES_SOURCE for pair in opened)
    if judge is None and not judged:
        return Margin(left=len(opened))
    margin: Margin = PARTS.load("judged_pairs")(store, survey, held, opened, judge)
    return margin


def must_see_all(store: Store, *, with_judge: bool) -> bool:
    """Return True if the next run must compare all pairs, not only those that changed."""
    meta = store.meta()
    return meta.get(RULES_META) != RULES_VERSION or (with_judge and not meta.get(JUDGE_META))


def _count_refused(store: Store, resolutions: ResolutionStore) -> int:
    decisions = resolutions.decisions()
    entities = store.graph.entities({entity for d in decisions for entity in d.pair})
    counts = {key: entity.chunk_count for key, entity in entities.items()}
    return len(form_groups(decisions, counts).refused)


def decide(store: Store, first: str, second: str, verdict: Verdict) -> SameAs:
    """Record a manual decision on two entities (ids), which outlasts later runs and their removal.

    Its reason names the decision of a rule or model that it overrules. If the two are kept apart
    and other decisions connect them, the least confident of these links no longer counts. Raises
    MissingCapability if the store cannot hold merged entities.
    """
    resolutions = require_resolutions(store)
    one, other = sorted((first, second))
    reason = "merged by hand" if verdict is Verdict.SAME else "kept apart by hand"
    for held in resolutions.of_entities([one]).get(one, ()):
        if held.second == other and held.verdict is not verdict and not held.by_person:
            reason += f"; {held.source}: {held.reason}"
    decision = SameAs(one, other, verdict, PERSON_SOURCE, reason)
    resolutions.put([decision])
    return decision


RULES_VERSION = "rules-4"
"""Version of the rules; after a change the next run compares every pair."""

_LARGEST_GROUP = 200


def record_rulings(
    resolutions: ResolutionStore,
    survey: PairSurvey,
    held: Mapping[EntityPair, SameAs],
    kept: Collection[EntityPair],
) -> None:
    """Store the merges of the rules, and remove decisions that neither rules nor judge still make.

    Manual decisions and those on pairs outside the survey are kept.
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


def record_conflicts(resolutions: ResolutionStore, profiles: Mapping[str, EntityProfile]) -> None:
    """Store which entities rules keep apart although decisions connect them, directly or not.

    So the chain 吉林省, 吉林, 吉林市 is not merged into one entity: `form_groups` refuses its least
    confident link. Other pairs that rules keep apart need no record.
    """
    decisions = {decision.pair: decision for decision in resolutions.decisions()}
    fresh: dict[EntityPair, SameAs] = {}
    for entities in _connected(decision for decision in decisions.values() if decision.joins):
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


def _why_apart(one: EntityProfile, other: EntityProfile) -> str:
    ruling = rule_apart(one, other)
    if ruling is not None:
        return ruling.reason
    forms = {one.shape.legal, other.shape.legal}
    if len(forms) == 2 and "" not in forms and one.shape.squeezed == other.shape.squeezed:
        return f"legal forms differ: {' and '.join(sorted(forms))}"
    return ""


def _is_conflict(decision: SameAs) -> bool:
    return decision.source == RULES_SOURCE and decision.verdict is Verdict.DIFFERENT


def _connected(joins: Iterable[SameAs]) -> list[list[str]]:
    beside: defaultdict[str, list[str]] = defaultdict(list)
    for decision in joins:
        beside[decision.first].append(decision.second)
        beside[decision.second].append(decision.first)
    seen: set[str] = set()
    components: list[list[str]] = []
    for start in sorted(beside):
        if start in seen:
            continue
        seen.add(start)
        component = [start]
        for entity in component:  # grows during the iteration
            new = [other for other in beside[entity] if other not in seen]
            seen.update(new)
            component.extend(dict.fromkeys(new))
        components.append(sorted(component))
    return components


def _key(pair: EntityPair, profiles: Mapping[str, EntityProfile]) -> str:
    names = (f"{profiles[i].entity.name} {profiles[i].entity.type}" for i in pair)
    return content_id(RULES_VERSION, *names)


@dataclass(frozen=True, slots=True)
class NamedDecision:
    """A decision with the names of its two entities.

    A ``refused`` decision has no effect, because it contradicts more confident ones.
    """

    decision: SameAs
    first: str
    second: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class MergedEntity:
    """A group of merged entities and the decisions that merge them.

    The canonical entity comes first, then the others by descending chunk count; ``names`` are in
    the same order. ``chunks`` is the sum of their chunk counts.
    """

    entity_ids: tuple[str, ...]
    names: tuple[str, ...]
    chunks: int
    decisions: tuple[NamedDecision, ...]


@dataclass(frozen=True, slots=True)
class SameNames:
    """All decisions: groups of merged entities, and pairs kept ``apart``.

    ``compared`` is True after the first run; ``waiting`` entities have changed since the last one.
    """

    things: tuple[MergedEntity, ...] = ()
    apart: tuple[NamedDecision, ...] = ()
    compared: bool = False
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class NamedHomonym:
    """A homonym; ``documents`` are the uris of the documents of each meaning."""

    homonym: Homonym
    name: str
    documents: tuple[tuple[str, ...], ...]


def read_same_names(store: Store, about: Collection[str] | None = None) -> SameNames:
    """Return the decisions on all entities, or on those of ``about`` (ids) and their groups.

    Groups are sorted by descending chunk count.
    """
    resolutions = store.capabilities.resolutions
    if resolutions is None:
        return SameNames()
    decisions = resolutions.decisions()
    entities = store.graph.entities({entity for d in decisions for entity in d.pair})
    counts = {key: entity.chunk_count for key, entity in entities.items()}
    canonical, refused = form_groups(decisions, counts)
    wanted = None if about is None else _members_with(about, canonical)
    joining: defaultdict[str, list[NamedDecision]] = defaultdict(list)
    apart: list[NamedDecision] = []
    for decision in decisions:
        if wanted is not None and wanted.isdisjoint(decision.pair):
            continue
        first, second = (entities[end].name for end in decision.pair)
        named = NamedDecision(decision, first, second, decision in refused)
        if decision.joins and not named.refused:
            joining[canonical[decision.first]].append(named)
        else:
            apart.append(named)
    members: defaultdict[str, list[str]] = defaultdict(list)
    for entity, key in canonical.items():
        members[key].append(entity)
    things = [_merged_entity(key, members[key], entities, joining[key]) for key in joining]
    return SameNames(
        tuple(sorted(things, key=lambda thing: (-thing.chunks, thing.entity_ids))),
        tuple(sorted(apart, key=lambda d: (not d.decision.by_person, d.first, d.second))),
        RULES_META in store.meta(),
        len(resolutions.touched()),
    )


def read_homonyms(store: Store, about: Collection[str] | None = None) -> tuple[NamedHomonym, ...]:
    """Return the homonyms among all entities or ``about`` (ids) as of the last run, by name."""
    homonyms = store.capabilities.homonyms
    wanted = homonyms.read(about) if homonyms is not None else {}
    entities = store.graph.entities(wanted)
    chunks = store.documents.chunks(
        {chunk for homonym in wanted.values() for sense in homonym.senses for chunk in sense}
    )
    documents = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    owners = {key: documents[chunk.document_id].uri for key, chunk in chunks.items()}
    named = (
        NamedHomonym(
            homonym,
            entities[key].name,
            tuple(tuple(sorted({owners[c] for c in sense})) for sense in homonym.senses),
        )
        for key, homonym in wanted.items()
    )
    return tuple(sorted(named, key=lambda item: (item.name, item.homonym.entity_id)))


def _members_with(about: Collection[str], canonical: Mapping[str, str]) -> set[str]:
    groups = {canonical[entity] for entity in about if entity in canonical}
    return {*about, *(entity for entity, key in canonical.items() if key in groups)}


def _merged_entity(
    key: str,
    members: Collection[str],
    entities: Mapping[str, Entity],
    decisions: Collection[NamedDecision],
) -> MergedEntity:
    ranked = sorted(members, key=lambda e: (e != key, -entities[e].chunk_count, e))
    return MergedEntity(
        tuple(ranked),
        tuple(entities[entity].name for entity in ranked),
        sum(entities[entity].chunk_count for entity in ranked),
        tuple(decisions),
    )
