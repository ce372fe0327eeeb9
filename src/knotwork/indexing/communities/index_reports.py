"""Keep communities and their reports up to date, publish reports to search, and list them as
topics.

`update_in_steps` refreshes all of an index; `report_in_steps` and `write_reports` refresh reports
alone, bottom-up and only where their material changed; `find_topics` lists them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np

from knotwork.errors import ConfigError
from knotwork.indexing.communities.briefs import Brief, BriefDesk
from knotwork.indexing.communities.detection import (
    FOREIGN_NAMES,
    NAMES_META,
    OPTIONS_META,
    CommunityOptions,
    community_store,
    names_key,
    refresh_communities,
    stored_communities,
)
from knotwork.indexing.communities.extractive_reports import (
    EXTRACTIVE_VERSION,
    Children,
    Material,
    children_among,
    children_in,
    outline_report,
    rate,
    write_extractive_report,
)
from knotwork.indexing.communities.report_writer import ReportWriter, WrittenReports, stand_in_key
from knotwork.indexing.embedding import EMBEDDER_META, Embedding, FloatMatrix
from knotwork.indexing.steps import Steps, finish_steps
from knotwork.inference.concurrency import Patience
from knotwork.records import EXTRACTIVE_SOURCE, Community, CommunityReport, content_id
from knotwork.stores.base import Scored, Store
from knotwork.stores.extensions import CommunityStore, read_parents
from knotwork.stores.removal import remove_vectors
from knotwork.transform.model.reply_records import Complaint

CONTENT_META = "communities_of"
"""Setting of an index that says of which documents its communities and reports are."""

FORM_META = "reports_form"
"""Setting of an index that says in which form its extractive reports are."""

WRITTEN_META = "reports_of"
"""Setting of an index that says for which documents a model has written all its reports."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A community and its report; ``score`` is its rank score in a search (see
    `knotwork.retrieval.community_search.search_communities`), else 0.
    """

    community: Community
    report: CommunityReport
    score: float = 0.0


def is_current(
    store: Store, *, options: CommunityOptions | None = None, written: bool = False
) -> bool:
    """Return whether communities and reports are those of the documents, and of the names that are
    one, as they are.

    With ``options`` they must have been found with these, unless they came from another system.
    ``written`` asks whether a model has written all reports that it is to write, too.
    """
    meta = store.meta()
    if written:
        return meta.get(WRITTEN_META) == _written_mark(store)
    if meta.get(CONTENT_META) != _ledger_digest(store):
        return False
    if meta.get(NAMES_META) == FOREIGN_NAMES:
        return True
    if options is not None and meta.get(OPTIONS_META) != options.fingerprint:
        return False
    return meta.get(FORM_META) == EXTRACTIVE_VERSION and meta.get(NAMES_META, "") == names_key(
        store
    )


def mark_current(store: Store) -> None:
    """Note that communities and reports, from elsewhere, are those of the documents as they are."""
    store.set_meta({CONTENT_META: _ledger_digest(store), NAMES_META: FOREIGN_NAMES})


@contextmanager
def staying_current(store: Store) -> Iterator[None]:
    """Keep communities and reports current over a change to the ledger that they do not depend on.

    For use in a transaction.
    """
    meta = store.meta()
    found = meta.get(CONTENT_META, "") == _ledger_digest(store)
    written = meta.get(WRITTEN_META, "") == _written_mark(store)
    yield
    if found:
        store.set_meta({CONTENT_META: _ledger_digest(store)})
    if written:
        store.set_meta({WRITTEN_META: _written_mark(store)})


def bring_up_to_date(
    store: Store,
    *,
    options: CommunityOptions | None = None,
    rebuild: bool = False,
    writer: ReportWriter | None = None,
    embedding: Embedding | None = None,
) -> ReportChanges:
    """Find the communities anew and write their reports; return what happened to these.

    See `update_in_steps`, which this does at once.
    """
    steps = update_in_steps(
        store, options=options, rebuild=rebuild, writer=writer, embedding=embedding
    )
    return finish_steps(steps)


def update_in_steps(
    store: Store,
    *,
    options: CommunityOptions | None = None,
    rebuild: bool = False,
    writer: ReportWriter | None = None,
    embedding: Embedding | None = None,
) -> Steps[ReportChanges]:
    """Find the communities anew, and yield how many of their reports a model has written.

    Communities that still fit keep their ids, unless ``rebuild``. They and the extractive reports
    come in one transaction; with ``writer`` a model then writes what is worth it, and what it has
    finished is kept whatever happens: see `refresh_reports`. Raises StoreError when the store
    cannot hold communities, StoreBusy while another process writes, StoreReadOnly; ModelError and
    BudgetExceeded when the model cannot be asked any more.
    """
    refresh = ReportRefresh(store, writer=writer, embedding=embedding)
    with store.transaction():
        content, mark = _ledger_digest(store), _written_mark(store)
        refresh_communities(store, options, rebuild=rebuild)
        refresh.put_extractive()
        store.set_meta({CONTENT_META: content, FORM_META: EXTRACTIVE_VERSION})
    changes = yield from refresh.write()
    if writer is not None and not changes.unanswered:
        store.set_meta({WRITTEN_META: mark})
    return changes


def find_topics(
    store: Store,
    *,
    ranked: Sequence[Scored] | None = None,
    level: int | None = None,
    limit: int = 20,
) -> list[Topic]:
    """Return communities with their reports: the ``ranked`` ones, or those of a level, best rated
    first.

    ``level`` 0 is the topmost, and the default. Raises ConfigError for a level that does not exist.
    """
    held = community_store(store)
    if ranked is not None:
        return _read_topics(held, {item.id: item.score for item in ranked})[:limit]
    return _read_topics(held, dict.fromkeys(ids_of_level(store, level or 0), 0.0))[:limit]


def ids_of_level(store: Store, level: int) -> frozenset[str]:
    """Return the ids of the communities of a level; 0 is the topmost.

    Raises ConfigError, which names the levels there are, for one that does not exist.
    """
    levels = community_store(store).levels()
    if not 0 <= level < max(len(levels), 1):
        raise ConfigError(
            f"There is no level {level} of communities.",
            fix=f"The levels are 0 (the topmost) to {max(len(levels) - 1, 0)}.",
        )
    return frozenset(levels[level] if levels else ())


def topics_within(store: Store, community_id: str) -> list[Topic]:
    """Return the communities within another one, with their reports, the best rated first."""
    held = community_store(store)
    parents = read_parents(held)
    return _read_topics(held, {key: 0.0 for key, over in parents.items() if over == community_id})


def _read_topics(held: CommunityStore, scores: Mapping[str, float]) -> list[Topic]:
    """Return those with a report, by score, then by how much of the index they cover."""
    communities, reports = held.communities(list(scores)), held.reports(list(scores))
    topics = [
        Topic(communities[i], reports[i], score)
        for i, score in scores.items()
        if i in communities and i in reports
    ]
    return sorted(
        topics, key=lambda t: (-t.score, -t.report.rating, -t.community.size, t.community.id)
    )


def _written_mark(store: Store) -> str:
    return f"{_ledger_digest(store)} {names_key(store)}".rstrip()


def _ledger_digest(store: Store) -> str:
    entries = store.ledger.entries()
    return content_id(*(f"{e.uri} {e.document_id} {e.revision} {e.settings}" for e in entries))


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
    return finish_steps(
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


REPORTS = "report"
"""The text index, and the vector index, of reports, by the ids of their communities."""

_AT_ONCE = 256


def publish_reports(
    store: Store,
    reports: Sequence[CommunityReport],
    *,
    embedding: Embedding | None = None,
    of: Mapping[str, Community] | None = None,
) -> None:
    """Store reports, with the texts and vectors that find them, in one transaction.

    Those of communities that are no longer as they were read (``of``) are left out: another process
    changed the documents meanwhile. Without ``embedding`` the vectors of earlier reports go. The
    embedder works before the transaction begins.
    """
    if not reports:
        return
    vectors = _vectors(store, reports, embedding) if embedding is not None else {}
    held = community_store(store)
    with store.transaction():
        if of is not None:
            now = held.communities([report.community_id for report in reports])
            reports = [r for r in reports if now.get(r.community_id) == of[r.community_id]]
        held.put_reports(reports)
        store.texts("report").add((report.community_id, report.text) for report in reports)
        ids = [report.community_id for report in reports]
        remove_vectors(store, REPORTS, ids)
        if embedding is not None and _fits(store, embedding):
            store.vectors(REPORTS).put((key, *vectors[key]) for key in ids if key in vectors)


def put_missing_vectors(store: Store, community_ids: Collection[str], embedding: Embedding) -> None:
    """Embed the reports that have no vector and are in a language that the embedder reads."""
    for _ in put_vectors_in_steps(store, community_ids, embedding):
        pass


def put_vectors_in_steps(
    store: Store, community_ids: Collection[str], embedding: Embedding, *, name: str = REPORTS
) -> Iterator[int]:
    """Do what `put_missing_vectors` does, and yield how many reports were looked at.

    ``name`` is the vector index to write to: that in use, or the staged one.
    """
    ids = sorted(community_ids)
    for start in range(0, len(ids), _AT_ONCE):
        group = ids[start : start + _AT_ONCE]
        known = store.vectors(name).get(group)
        lacking = community_store(store).reports([key for key in group if key not in known])
        vectors = _vectors(store, list(lacking.values()), embedding, name=name)
        if vectors:
            with store.transaction():
                now = community_store(store).reports(vectors.keys())
                if name != REPORTS or _fits(store, embedding):
                    store.vectors(name).put(
                        (key, *vectors[key])
                        for key, report in now.items()
                        if report == lacking[key]
                    )
        yield start + len(group)


def _fits(store: Store, embedding: Embedding) -> bool:
    """Return False if the index was switched to another embedder while this one worked."""
    return store.meta().get(EMBEDDER_META, embedding.name) == embedding.name


def _vectors(
    store: Store,
    reports: Sequence[CommunityReport],
    embedding: Embedding,
    *,
    name: str = REPORTS,
) -> dict[str, tuple[str, FloatMatrix]]:
    """Return the content key and the vector of each report that the embedder reads."""
    texts = {report.community_id: f"{report.title}\n{report.summary}" for report in reports}
    keys = {
        key: content_id("report", embedding.name, text)
        for key, text in texts.items()
        if embedding.reads(text)
    }
    found = store.vectors(name).by_key(keys.values())
    new = [key for key in keys if keys[key] not in found]
    for group in _slices(new):
        rows = embedding.embed_names([texts[key] for key in group])
        found.update((keys[key], row[np.newaxis]) for key, row in zip(group, rows, strict=True))
    return {key: (keys[key], found[keys[key]]) for key in keys}


def _slices(items: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]
