"""Entity resolution: decisions that join entities under several names, made, kept and undone.

No entity is changed. A decision that two are the same is a record with its reason, and the groups
that decisions form are read where names must count as one. Rules decide what is sure; the rest, the
margin, is asked of a model where there is one, and stays apart where there is none.

What is decided of a pair depends on the chunks that mention one of the two, or a name that one of
them is short for. So an update looks at the pairs of what it touched alone, and decides as a fresh
index would; but for the ceiling of a judge, which each run has for itself.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass

from knotwork.indexing.resolution.judging import Judge, ask_judge
from knotwork.indexing.resolution.margin import Margin, read_margin
from knotwork.indexing.resolution.recording import (
    RULES_VERSION,
    judged,
    record_conflicts,
    record_homonyms,
    record_rulings,
)
from knotwork.indexing.resolution.survey import survey_pairs
from knotwork.indexing.steps import Steps, finish
from knotwork.records import PERSON_SOURCE, Homonym, SameAs, Verdict
from knotwork.stores.base import Store
from knotwork.stores.resolutions import ResolutionStore, StoresResolutions, form_groups, read_groups

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
    return finish(resolve_in_steps(store, judge=judge, changed=changed))


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
