"""Keeping reports up to date: bottom-up, and only where what they are written from changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple, TypeVar

from knotwork.indexing.communities.briefs import Brief, BriefDesk
from knotwork.indexing.communities.extractive import outline_report, rate, write_extractive_report
from knotwork.indexing.communities.foundation import Children, children_among, children_in
from knotwork.indexing.communities.material import Material
from knotwork.indexing.communities.publishing import publish_reports, put_missing_vectors
from knotwork.indexing.communities.refreshing import community_store, stored_communities
from knotwork.indexing.communities.writing import ReportWriter, WrittenReports, stand_in_key
from knotwork.indexing.embedding import Embedding
from knotwork.indexing.steps import Steps, finish
from knotwork.records import EXTRACTIVE_SOURCE, Community, CommunityReport
from knotwork.stores.base import Store
from knotwork.transform.model.drafts import Complaint
from knotwork.transform.model.pool import Patience

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ReportChanges:
    """What a refresh did: the communities whose reports it wrote, of how ``many`` that it saw.

    Of the reports written, ``by_model`` are a model's; for ``stand_ins`` its replies could not be
    used. ``complaints`` say what of its replies is not used. For ``unanswered`` no server answered:
    they have what they had, and the next refresh asks about them again.
    """

    changed: frozenset[str] = field(repr=False)
    many: int
    seconds: float
    by_model: int = 0
    stand_ins: int = 0
    complaints: tuple[Complaint, ...] = ()
    unanswered: int = 0

    @property
    def written(self) -> int:
        """The number of reports written."""
        return len(self.changed)

    @property
    def kept(self) -> int:
        """The number of reports that were still right."""
        return self.many - len(self.changed)

    def joined(self, later: ReportChanges) -> ReportChanges:
        """Return what this refresh and a later one of the same communities did."""
        return ReportChanges(
            self.changed | later.changed,
            later.many,
            self.seconds + later.seconds,
            self.by_model + later.by_model,
            self.stand_ins + later.stand_ins,
            (*self.complaints, *later.complaints),
            later.unanswered,
        )


def refresh_reports(
    store: Store,
    *,
    community_ids: Collection[str] | None = None,
    writer: ReportWriter | None = None,
    embedding: Embedding | None = None,
) -> ReportChanges:
    """Write the reports that are missing or outdated.

    See `report_in_steps`, which this does at once.
    """
    return finish(
        report_in_steps(store, community_ids=community_ids, writer=writer, embedding=embedding)
    )


def report_in_steps(
    store: Store,
    *,
    community_ids: Collection[str] | None = None,
    writer: ReportWriter | None = None,
    embedding: Embedding | None = None,
) -> Steps[ReportChanges]:
    """Write the reports that are missing or outdated, and yield how many a model has written.

    All of them, or those of ``community_ids`` and of the communities below these, which they are
    made from. The extractive ones come first, in one transaction; then ``writer`` has a model write
    those that are worth it, level by level from below, and each call's reports are stored when it
    comes. A report is kept while what it was written from is the same: an extractive one by its
    material, a model's by its brief, with a writer or without. Reports are searched by
    ``texts("report")`` under the ids of their communities and, with ``embedding``, by
    ``vectors("report")``. Where no server answers, a report stays as it is for now. Raises
    StoreError when the store cannot hold communities; ModelError and BudgetExceeded when no more
    calls can be made, ModelUnavailable when many in a row had no answer: what is finished is
    stored.
    """
    refresh = ReportRefresh(store, writer=writer, embedding=embedding)
    with store.transaction():
        refresh.put_extractive(community_ids)
    return (yield from refresh.write())


class ReportRefresh:
    """Writes reports in two parts: what needs no model, in a transaction, then what does.

    What was read of a community for the first part is there for the second.
    """

    def __init__(
        self,
        store: Store,
        *,
        writer: ReportWriter | None = None,
        embedding: Embedding | None = None,
    ) -> None:
        self._store = store
        self._writer = writer
        self._embedding = embedding
        self._begun = time.monotonic()
        self._communities: dict[str, Community] = {}
        self._written: list[CommunityReport] = []
        self._pending: list[_Pending] = []
        self._desk: BriefDesk | None = None

    def put_extractive(self, community_ids: Collection[str] | None = None) -> None:
        """Store the extractive reports that are missing or outdated, in one transaction."""
        with self._store.transaction():
            communities = stored_communities(community_store(self._store))
            budgets = self._writer.budgets if self._writer is not None else None
            self._desk = BriefDesk(self._store, children_among(communities), budgets)
            if community_ids is not None:
                communities = _with_descendants(communities, set(community_ids))
            self._communities = {community.id: community for community in communities}
            self._pending, self._written = _refresh_extractive(
                self._store, self._desk, communities, self._writer
            )

    def write(self) -> Steps[ReportChanges]:
        """Have the model write what is worth it, and yield how many of its reports are there."""
        model = WrittenReports()
        if self._writer is not None and self._desk is not None:
            total = len(self._pending)
            patience = Patience(self._writer.patience)
            yield 0, total
            for level in _by_level(self._pending, lambda item: item.community):
                briefs = [self._desk.brief(item.community, item.material) for item in level]
                calls = _write(
                    self._store, briefs, self._communities, self._writer, self._embedding
                )
                with closing(calls):
                    for call in calls:
                        model = model.joined(call)
                        yield len(model.reports), total
                        patience.note("" if call.reports else call.absence)
        if self._embedding is not None:
            put_missing_vectors(self._store, self._communities.keys(), self._embedding)
        return ReportChanges(
            frozenset(report.community_id for report in (*self._written, *model.reports)),
            len(self._communities),
            time.monotonic() - self._begun,
            len(model.reports) - len(model.stood_in),
            len(model.stood_in),
            model.complaints,
            len(model.unanswered),
        )


class _Pending(NamedTuple):
    """A community that a model is to write about, and what there is to write from."""

    community: Community
    material: Material


def write_reports(
    store: Store,
    community_ids: Collection[str],
    writer: ReportWriter,
    *,
    embedding: Embedding | None = None,
) -> dict[str, CommunityReport]:
    """Have a model write the reports of these communities alone, and return the reports of all.

    One is written where it is missing, outdated or extractive, and worth it. Those of other
    communities stay as they are: a parent is written from the reports of its children as they
    stand. The lowest come first. Raises as `refresh_reports`; what is finished is stored.
    """
    held = community_store(store)
    found = held.communities(list(dict.fromkeys(community_ids)))
    children = children_in(held)
    around = _reports_around(store, found.values(), children)
    desk = BriefDesk(store, children, writer.budgets, around)
    patience = Patience(writer.patience)
    for level in _by_level(found.values(), lambda community: community):
        known = held.reports([community.id for community in level])
        extractive: list[CommunityReport] = []
        briefs: list[Brief] = []
        for community in level:
            material, report = desk.foundation.material(community), known.get(community.id)
            if desk.is_worth_a_model(community, material):
                brief = desk.brief(community, material)
                if report is None or not _is_written(report, brief, material, writer):
                    briefs.append(brief)
            elif report is None or not _is_right(report, community, material, desk):
                extractive.append(write_extractive_report(material))
        if extractive or briefs:
            with store.transaction():  # raises before a model is paid where nothing can be kept
                publish_reports(store, extractive, of=found)
        with closing(_write(store, briefs, found, writer, embedding)) as calls:
            for call in calls:
                patience.note("" if call.reports else call.absence)
    if embedding is not None:
        put_missing_vectors(store, found.keys(), embedding)
    return held.reports(found.keys())


def _is_written(
    known: CommunityReport, brief: Brief, material: Material, writer: ReportWriter
) -> bool:
    """Tell whether a report is not for the rules to write: a model did, or could not before."""
    written, tried = _keys(brief)
    if known.source == EXTRACTIVE_SOURCE:
        return known.content_key == tried and not writer.retry
    return known.content_key in {written, material.content_key}


def _refresh_extractive(
    store: Store, desk: BriefDesk, communities: Sequence[Community], writer: ReportWriter | None
) -> tuple[list[_Pending], list[CommunityReport]]:
    """Store the extractive reports that are missing or outdated, and return them, behind the
    communities that a model is to write about.

    A model's report whose brief is the same stays, and is rated by what the extent is now.
    """
    reports = community_store(store).reports([community.id for community in communities])
    pending: list[_Pending] = []
    written: list[CommunityReport] = []
    rated: list[CommunityReport] = []
    for community in sorted(communities, key=_from_below):
        material = desk.foundation.material(community)
        known = reports.get(community.id)
        if known is None or not _is_right(known, community, material, desk):
            known = write_extractive_report(material)
            written.append(known)
        elif known.content_key != material.content_key and known.rating != rate(material):
            rated.append(replace(known, rating=rate(material)))
        if known.source == EXTRACTIVE_SOURCE:
            desk.foundation.settle(known)
            asked_before = known.content_key != material.content_key
            again = writer is not None and (writer.retry or not asked_before)
            if again and desk.is_worth_a_model(community, material):
                pending.append(_Pending(community, material))
        elif community.parent_id is not None:
            desk.foundation.settle(outline_report(material))
    community_store(store).put_reports(rated)
    publish_reports(store, written)
    return pending, written


def _is_right(
    known: CommunityReport, community: Community, material: Material, desk: BriefDesk
) -> bool:
    """Tell whether a report is what would be written: from this material, or from this brief."""
    return known.content_key == material.content_key or known.content_key in _keys(
        desk.brief(community, material)
    )


def _keys(brief: Brief) -> tuple[str, str]:
    return brief.key, stand_in_key(brief)


def _write(
    store: Store,
    briefs: Sequence[Brief],
    communities: Mapping[str, Community],
    writer: ReportWriter,
    embedding: Embedding | None,
) -> Generator[WrittenReports, None, None]:
    """Have a model write reports; store, and yield, those of each call when it comes."""
    with closing(writer.write(briefs)) as calls:
        for call in calls:
            publish_reports(store, call.reports, embedding=embedding, of=communities)
            yield call


def _by_level(
    items: Iterable[Item], community: Callable[[Item], Community]
) -> Iterator[list[Item]]:
    """Yield what is of the communities of each level, the lowest first."""
    ordered = sorted(items, key=lambda item: _from_below(community(item)))
    for _, level in groupby(ordered, key=lambda item: community(item).level):
        yield list(level)


def _from_below(community: Community) -> tuple[int, str]:
    return -community.level, community.id


def _reports_around(
    store: Store, communities: Iterable[Community], children: Children
) -> list[CommunityReport]:
    """Return the reports of communities and of their children."""
    ids = {key.id for community in communities for key in (community, *children(community))}
    return list(community_store(store).reports(ids).values())


def _with_descendants(communities: list[Community], wanted: set[str]) -> list[Community]:
    """Return those wanted and all below them; ``communities`` come parents first."""
    found: list[Community] = []
    for community in communities:
        if community.id in wanted or community.parent_id in wanted:
            wanted.add(community.id)
            found.append(community)
    return found
