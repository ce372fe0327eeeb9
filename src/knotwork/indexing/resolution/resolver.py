"""Resolve entities: decide which are the same, record, undo and list decisions.

No entity is changed. A decision that two are the same is a record with its reason, and the groups
that decisions form are read where names must count as one. Rules decide what is sure; a model
judges the rest if there is one, else they stay apart.

A decision on a pair depends on the chunks that mention one of the two, or a name that one of them
abbreviates. So an update compares only the pairs that it touched, and decides as a fresh index
would, except for the ceiling of a judge, which each run has for itself.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations

from knotwork.indexing.resolution.judge import Judge, Margin, PairQuestion, ask_judge, read_margin
from knotwork.indexing.resolution.name_evidence import EntityPair, EntityProfile
from knotwork.indexing.resolution.pair_survey import PairSurvey, survey_pairs
from knotwork.indexing.resolution.rules import rule_apart
from knotwork.indexing.steps import Steps, finish_steps
from knotwork.records import (
    PERSON_SOURCE,
    RULES_SOURCE,
    Entity,
    Homonym,
    SameAs,
    Verdict,
    content_id,
)
from knotwork.stores.base import Store
from knotwork.stores.resolutions import (
    ResolutionStore,
    StoresHomonyms,
    StoresResolutions,
    form_groups,
    read_groups,
)

RULES_META = "resolution.rules"
JUDGE_META = "resolution.judge"


@dataclass(frozen=True, slots=True)
class ResolutionChanges:
    """What a run did.

    Of ``pairs`` candidates, rules made ``same`` one and held ``apart``; ``margin`` were open. Of
    these, ``judged`` were decided by the judge now, ``judged_same`` of them as one; ``kept`` had
    been judged before, ``undecided`` got no answer, and ``left`` were not asked. In the whole
    index, ``refused`` decisions would join what another holds apart, and ``groups`` things have
    several names. ``homonyms`` are the names, of those looked at, that mean several things.
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


def resolve_entities(
    store: Store, *, judge: Judge | None = None, changed: Collection[str] | None = None
) -> ResolutionChanges:
    """Decide which entities of an index are the same, and return what was done.

    See `resolve_in_steps`, which this does at once.
    """
    return finish_steps(resolve_in_steps(store, judge=judge, changed=changed))


def resolve_in_steps(
    store: Store, *, judge: Judge | None = None, changed: Collection[str] | None = None
) -> Steps[ResolutionChanges]:
    """Decide which entities are the same, and yield how many pairs a judge has been asked about.

    Pairs are looked at of which one entity is among ``changed`` or was touched since the last run
    (`ResolutionStore.touch`); all pairs on the first run, when the rules are new, and when there is
    a judge and the last run had none. Decisions by hand stay. A judged pair is asked again only
    when what a judge is shown of it has changed. Does nothing on a store that holds no resolutions.
    Raises as `ChatModel.complete` does; what was judged before is kept, and the next run goes on.
    """
    started = time.perf_counter()
    if not isinstance(store, StoresResolutions):
        return ResolutionChanges()
    resolutions = store.resolutions
    touched = resolutions.touched()
    everything = must_see_all(store, with_judge=judge is not None)
    survey = survey_pairs(store, None if everything else {*touched, *(changed or ())})
    held = {decision.pair: decision for decision in resolutions.decisions()}
    margin = read_margin(store, survey, held, judge)
    with store.transaction():
        record_rulings(resolutions, survey, held, margin.kept)
        record_homonyms(store, survey, touched)
    calls, verdicts = yield from _ask(resolutions, margin, judge)
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


def must_see_all(store: Store, *, with_judge: bool) -> bool:
    """Tell whether all pairs are to be looked at, not only those of what changed."""
    meta = store.meta()
    return meta.get(RULES_META) != RULES_VERSION or (with_judge and not meta.get(JUDGE_META))


def _ask(
    resolutions: ResolutionStore, margin: Margin, judge: Judge | None
) -> Steps[tuple[int, list[Verdict]]]:
    """Put the verdicts of each call as it comes; return how many calls, and the verdicts."""
    if judge is None or not margin.asked:
        return 0, []
    asked = {question.pair: question for question in margin.asked}
    verdicts: list[Verdict] = []
    calls = 0
    yield 0, len(asked)
    with closing(ask_judge(judge, margin.asked)) as replies:
        for reply in replies:
            calls += 1
            verdicts += reply.verdicts.values()
            resolutions.put(
                judged(asked[pair], verdict, judge.model.name)
                for pair, verdict in reply.verdicts.items()
            )
            yield len(verdicts), len(asked)
    return calls, verdicts


def _count_refused(store: Store, resolutions: ResolutionStore) -> int:
    decisions = resolutions.decisions()
    entities = store.graph.entities({entity for d in decisions for entity in d.pair})
    counts = {key: entity.chunk_count for key, entity in entities.items()}
    return len(form_groups(decisions, counts).refused)


def decide(store: StoresResolutions, first: str, second: str, verdict: Verdict) -> SameAs:
    """Decide by hand whether two entities (ids) are the same; no run changes that."""
    one, other = sorted((first, second))
    decision = SameAs(one, other, verdict, PERSON_SOURCE, "decided by hand")
    store.resolutions.put([decision])
    return decision


def undo(store: StoresResolutions, first: str, second: str) -> SameAs:
    """Hold two entities (ids) apart from now on, and return the decision that is undone.

    Where others join the two, the least sure of these links no longer counts. Outlasts later runs,
    and the entities' going and coming back; `decide` takes it back.
    """
    one, other = sorted((first, second))
    known = {d.pair: d for d in store.resolutions.of_entities([one]).get(one, [])}
    decision = known.get((one, other)) or SameAs(
        one, other, Verdict.DIFFERENT, PERSON_SOURCE, "undone by hand"
    )
    decision = SameAs(
        one,
        other,
        decision.verdict,
        decision.source,
        decision.reason,
        decision.score,
        decision.content_key,
        undone=True,
    )
    store.resolutions.put([decision])
    return decision


def merged_names(store: Store, entity_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the names of the thing that each of these entities is, the canonical one first, then
    those of most chunks. An entity with no other name has its own; one that is not there is absent.
    """
    groups = read_groups(store)
    members: defaultdict[str, list[str]] = defaultdict(list)
    for entity, canonical in groups.items():
        members[canonical].append(entity)
    wanted = {e: members.get(groups.get(e, e), [e]) for e in entity_ids}
    entities = store.graph.entities({member for group in wanted.values() for member in group})
    named: dict[str, tuple[str, ...]] = {}
    for entity, group in wanted.items():
        if entity not in entities:
            continue
        ranked = sorted(
            (entities[member] for member in group if member in entities),
            key=lambda e: (e.id != groups.get(entity, entity), -e.chunk_count, e.id),
        )
        named[entity] = tuple(dict.fromkeys(member.name for member in ranked))
    return named


RULES_VERSION = "rules-2"
"""Changes whenever the rules would decide otherwise: the next run then looks at every pair."""

_JUDGED_SCORE = 0.85
"""How sure a model's verdict is, below every rule's: of two that contradict, the rule counts."""

_LARGEST_GROUP = 200


def record_rulings(
    resolutions: ResolutionStore,
    survey: PairSurvey,
    held: Mapping[EntityPair, SameAs],
    kept: Collection[EntityPair],
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


def record_homonyms(store: Store, survey: PairSurvey, touched: Collection[str]) -> None:
    """Put which names mean several things, of all entities that the survey read or that changed."""
    if isinstance(store, StoresHomonyms):
        among = None if survey.looked_at is None else survey.read.union(touched)
        store.homonyms.replace(survey.homonyms.values(), among=among)


def judged(question: PairQuestion, verdict: Verdict, source: str) -> SameAs:
    """Return a judge's verdict as a decision."""
    return SameAs(
        *question.pair, verdict, source, question.reason, _JUDGED_SCORE, question.content_key
    )


def record_conflicts(resolutions: ResolutionStore, profiles: Mapping[str, EntityProfile]) -> None:
    """Put which entities that decisions join, perhaps by way of others, the rules hold apart.

    So a chain from 吉林省 over 吉林 to 吉林市 does not become one thing: `form_groups` refuses its
    least sure link. What rules hold apart elsewhere needs no record.
    """
    decisions = {decision.pair: decision for decision in resolutions.decisions()}
    fresh: dict[EntityPair, SameAs] = {}
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


def _why_apart(one: EntityProfile, other: EntityProfile) -> str:
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


def _key(pair: EntityPair, profiles: Mapping[str, EntityProfile]) -> str:
    names = (f"{profiles[i].entity.name} {profiles[i].entity.type}" for i in pair)
    return content_id(RULES_VERSION, *names)


@dataclass(frozen=True, slots=True)
class NamedDecision:
    """A decision and the names of its two entities.

    ``refused`` says that it does not count: it would join what other decisions hold apart.
    """

    decision: SameAs
    first: str
    second: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class MergedEntity:
    """A thing with several names: its entities, the canonical one first, and what joins them.

    ``names`` are those of the entities, in the same order; those of most chunks come first.
    """

    entity_ids: tuple[str, ...]
    names: tuple[str, ...]
    chunks: int
    decisions: tuple[NamedDecision, ...]


@dataclass(frozen=True, slots=True)
class SameNames:
    """What is decided: things with several names, and pairs that are held apart.

    ``compared`` says that names were ever compared, ``waiting`` how many changed since.
    """

    things: tuple[MergedEntity, ...] = ()
    apart: tuple[NamedDecision, ...] = ()
    compared: bool = False
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class NamedHomonym:
    """A name that means several things; ``documents`` are the uris of each meaning."""

    homonym: Homonym
    name: str
    documents: tuple[tuple[str, ...], ...]


def read_same_names(store: Store, about: Collection[str] | None = None) -> SameNames:
    """Return what is decided of all entities, or of the things that those of ``about`` (ids) are.

    Things of most chunks come first. An entity that was never compared is in none.
    """
    if not isinstance(store, StoresResolutions):
        return SameNames()
    decisions = store.resolutions.decisions()
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
    for entity, standing in canonical.items():
        members[standing].append(entity)
    things = [_merged_entity(key, members[key], entities, joining[key]) for key in joining]
    return SameNames(
        tuple(sorted(things, key=lambda thing: (-thing.chunks, thing.entity_ids))),
        tuple(sorted(apart, key=lambda d: (not d.decision.by_person, d.first, d.second))),
        RULES_META in store.meta(),
        len(store.resolutions.touched()),
    )


def read_homonyms(store: Store, about: Collection[str] | None = None) -> tuple[NamedHomonym, ...]:
    """Return the names that mean several things, of all entities or of ``about`` (ids), by name,
    as they were when names were last compared.
    """
    wanted = store.homonyms.read(about) if isinstance(store, StoresHomonyms) else {}
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
    """Return these entities and all that are one with one of them."""
    standing = {canonical[entity] for entity in about if entity in canonical}
    return {*about, *(entity for entity, key in canonical.items() if key in standing)}


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
