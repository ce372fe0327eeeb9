"""Update communities and their reports, make reports searchable, and list them as topics.

`bring_up_to_date` updates all of an index, `refresh_reports` its reports only, bottom-up, and only
those whose material changed; `find_topics` lists them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from knotwork._cancellation import checked
from knotwork._indexing.commit import CONTENT_META, WRITTEN_META
from knotwork._indexing.communities.detection import (
    FOREIGN_NAMES,
    NAMES_META,
    OPTIONS_META,
    CommunityOptions,
    names_key,
    refresh_communities,
    stored_communities,
)
from knotwork._indexing.communities.extractive_reports import (
    EXTRACTIVE_VERSION,
    ExtractiveReports,
    Material,
    Pending,
    children_among,
    lowest_first,
    outline_report,
    rate,
    write_extractive_report,
)
from knotwork._indexing.communities.stored_reports import publish_reports, put_missing_vectors
from knotwork._indexing.embedding import Embedding
from knotwork._registry import PARTS
from knotwork._run import Steps, Verb
from knotwork._stores.base import Scored, Store, require_communities, whole_of
from knotwork._stores.capabilities import CommunityStore
from knotwork.errors import ConfigError
from knotwork.records import EXTRACTIVE_SOURCE, Community, CommunityReport, content_id

if TYPE_CHECKING:
    from knotwork._extensions.model_indexing.reply_formats import Complaint
    from knotwork._extensions.model_indexing.written_reports import (
        BriefBuilder,
        ReportWriter,
        WrittenReports,
    )

FORM_META = "reports_form"
"""Index setting: the version of its extractive reports."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A community and its report.

    ``score`` is its score in `knotwork._retrieval.community_search.search_communities`, else 0.
    """

    community: Community
    report: CommunityReport
    score: float = 0.0


def is_current(
    store: Store, *, options: CommunityOptions | None = None, written: bool = False
) -> bool:
    """Return True if communities and reports match the documents and the merged names.

    With ``options``, communities must have been found with these, unless they were imported. With
    ``written``, return True if the model has also written every report that it should write. The
    ledger is read once per generation of the store, so that frequent calls are cheap.
    """
    store = whole_of(store)
    meta = store.meta()
    if written:
        return WRITTEN_META in meta and meta[WRITTEN_META] == _fingerprints(store).written
    if CONTENT_META not in meta:
        return False
    is_imported = meta.get(NAMES_META) == FOREIGN_NAMES
    if not is_imported and (
        meta.get(FORM_META) != EXTRACTIVE_VERSION
        or (options is not None and meta.get(OPTIONS_META) != options.fingerprint)
    ):
        return False
    index = _fingerprints(store)
    return meta[CONTENT_META] == index.ledger and (
        is_imported or meta.get(NAMES_META, "") == index.names
    )


def mark_current(store: Store) -> None:
    """Record that the imported communities and reports match the current documents."""
    store.set_meta({CONTENT_META: _fingerprints(store).ledger, NAMES_META: FOREIGN_NAMES})


@contextmanager
def staying_current(store: Store) -> Iterator[None]:
    """Keep communities and reports current across a ledger change that does not affect them.

    Use it inside a transaction.
    """
    meta = store.meta()
    before = _fingerprints(store)
    yield
    after = _fingerprints(store)
    if meta.get(CONTENT_META) == before.ledger:
        store.set_meta({CONTENT_META: after.ledger})
    if meta.get(WRITTEN_META) == before.written:
        store.set_meta({WRITTEN_META: after.written})


@Verb
def bring_up_to_date(
    store: Store,
    *,
    options: CommunityOptions | None = None,
    rebuild: bool = False,
    writer: ReportWriter | None = None,
    embedding: Embedding | None = None,
) -> Steps[ReportChanges]:
    """Update communities and reports; yield how many reports the model has written, of how many.

    Communities that still fit keep their ids, unless ``rebuild``. Communities and extractive
    reports are written in one transaction. With ``writer`` a model then writes the reports that
    benefit from it; each call's reports are stored at once (see `refresh_reports`). Raises
    StoreError if the store cannot hold communities, StoreBusy while another process writes,
    StoreReadOnly for a read-only store, ModelError and BudgetExceeded if no more calls are
    possible.
    """
    begun = time.monotonic()
    with store.transaction():
        index = _fingerprints(store)
        refresh_communities(store, options, rebuild=rebuild)
        work = ReportWork(store, writer)
        work.put_extractive()
        store.set_meta({CONTENT_META: index.ledger, FORM_META: EXTRACTIVE_VERSION})
    changes = yield from work.finish(embedding, begun)
    if writer is not None and not changes.unanswered:
        store.set_meta({WRITTEN_META: index.written})
    return changes


def find_topics(
    store: Store,
    *,
    ranked: Sequence[Scored] | None = None,
    level: int | None = None,
    limit: int = 20,
) -> list[Topic]:
    """Return the ``ranked`` communities, or those of a level by descending rating, as topics.

    ``level`` 0 is the topmost and the default. Raises ConfigError for an unknown level.
    """
    held = require_communities(store)
    if ranked is not None:
        return _read_topics(held, {item.id: item.score for item in ranked})[:limit]
    return _read_topics(held, dict.fromkeys(ids_of_level(store, level or 0), 0.0))[:limit]


def ids_of_level(store: Store, level: int) -> frozenset[str]:
    """Return the ids of the communities of a level; 0 is the topmost.

    Raises ConfigError for an unknown level, with the valid ones.
    """
    levels = require_communities(store).levels()
    if not 0 <= level < max(len(levels), 1):
        raise ConfigError(
            f"Unknown community level {level}.",
            fix=f"Choose a level from 0 (the topmost) to {max(len(levels) - 1, 0)}.",
        )
    return frozenset(levels[level] if levels else ())


def topics_within(store: Store, community_id: str) -> list[Topic]:
    """Return the children of a community with their reports, by descending rating."""
    held = require_communities(store)
    parents = held.parents()
    return _read_topics(held, {key: 0.0 for key, over in parents.items() if over == community_id})


def _read_topics(held: CommunityStore, scores: Mapping[str, float]) -> list[Topic]:
    communities, reports = held.communities(list(scores)), held.reports(list(scores))
    topics = [
        Topic(communities[i], reports[i], score)
        for i, score in scores.items()
        if i in communities and i in reports
    ]
    return sorted(
        topics, key=lambda t: (-t.score, -t.report.rating, -t.community.size, t.community.id)
    )


@dataclass(frozen=True, slots=True)
class _Fingerprints:
    """Fingerprints of what communities and reports depend on, as of a generation of a store."""

    generation: int
    ledger: str
    names: str

    @property
    def written(self) -> str:
        """The value of `WRITTEN_META` once a model has written its reports."""
        return f"{self.ledger} {self.names}".rstrip()


_FINGERPRINTS: WeakKeyDictionary[Store, _Fingerprints] = WeakKeyDictionary()
"""The last fingerprints of each open store."""


def _fingerprints(store: Store) -> _Fingerprints:
    """Return the fingerprints of a store, computed again only if its generation has changed.

    A transaction computes its own: its changes do not count in the generation yet. The generation
    is read first, so a write that another process commits meanwhile makes the next call compute.
    """
    may_cache = not store.writing
    generation = store.generation()
    known = _FINGERPRINTS.get(store) if may_cache else None
    if known is not None and known.generation == generation:
        return known
    entries = store.ledger.entries()
    ledger = content_id(*(f"{e.uri} {e.document_id} {e.revision} {e.settings}" for e in entries))
    found = _Fingerprints(generation, ledger, names_key(store))
    if may_cache:
        _FINGERPRINTS[store] = found
    return found


@dataclass(frozen=True, slots=True)
class ReportChanges:
    """Result of a refresh: the ids of ``changed`` communities, of ``many`` that were checked.

    Of the written reports, ``by_model`` are a model's and ``stand_ins`` are extractive because the
    reply was unusable. ``complaints`` list the unused parts of replies. ``unanswered`` communities
    got no reply: they keep their reports, and the next refresh asks again.
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
        """The number of reports that were still up to date."""
        return self.many - len(self.changed)


@Verb
def refresh_reports(
    store: Store,
    *,
    writer: ReportWriter | None = None,
    embedding: Embedding | None = None,
) -> Steps[ReportChanges]:
    """Write missing and outdated reports, and return the changes.

    Extractive reports are written first, in one transaction. With ``writer`` a model then writes
    the reports that benefit from it, level by level from the lowest; each call's reports are stored
    as soon as it returns. A report stays valid while its input is unchanged: the material of an
    extractive report, the brief of a model's. ``texts("report")`` indexes reports under the ids of
    their communities; with ``embedding``, so does ``vectors("report")``. If no server answers, a
    report is left unchanged. Raises StoreError if the store cannot hold communities, ModelError and
    BudgetExceeded if no more calls are possible, ModelUnavailable if many calls in a row got no
    reply. Finished reports are stored in any case.
    """
    begun = time.monotonic()
    with store.transaction():
        work = ReportWork(store, writer)
        work.put_extractive()
    return (yield from work.finish(embedding, begun))


class ReportWork:
    """A refresh of the reports of a store: what rules wrote, and what they leave to ``writer``.

    ``pending`` reports are those that a model should write.
    """

    def __init__(self, store: Store, writer: ReportWriter | None) -> None:
        self.store = store
        self.writer = writer
        communities = stored_communities(require_communities(store))
        self.communities = {community.id: community for community in communities}
        self.extractive = ExtractiveReports(store, children_among(communities))
        self.written: list[CommunityReport] = []
        self.pending: list[Pending] = []

    @cached_property
    def briefs(self) -> BriefBuilder:
        """The briefs of communities; without a model they show whether its reports still hold."""
        least_tokens = self.writer.least_tokens if self.writer is not None else 0
        briefs: BriefBuilder = PARTS.load("report_briefs")(
            self.store, self.extractive, least_tokens
        )
        return briefs

    def put_extractive(self) -> None:
        """Store the extractive reports that are missing or outdated; use it in a transaction."""
        held, writer, extractive = require_communities(self.store), self.writer, self.extractive
        reports, rated = held.reports(list(self.communities)), list[CommunityReport]()
        for community in checked(sorted(self.communities.values(), key=lowest_first)):
            material = extractive.material(community)
            known = reports.get(community.id)
            if (
                known is None
                or (writer is not None and writer.rewrites)
                or not self._is_up_to_date(known, community, material)
            ):
                known = write_extractive_report(material)
                self.written.append(known)
            elif known.content_key != material.content_key and known.rating != rate(material):
                # A model's report whose brief is unchanged stays, with the current rating.
                rated.append(replace(known, rating=rate(material)))
            if known.source == EXTRACTIVE_SOURCE:
                extractive.add(known)
                asked_before = known.content_key != material.content_key
                again = writer is not None and (writer.retry or not asked_before)
                if again and self.briefs.is_worth_a_model(community, material):
                    self.pending.append(Pending(community, material))
            elif community.parent_id is not None:
                extractive.add(outline_report(material))
        held.put_reports(rated)
        publish_reports(self.store, self.written)

    def _is_up_to_date(
        self, known: CommunityReport, community: Community, material: Material
    ) -> bool:
        if known.content_key == material.content_key:
            return True
        return self.briefs.is_from_brief(known, community, material)

    def finish(self, embedding: Embedding | None, begun: float) -> Steps[ReportChanges]:
        """Have the model write what is pending; yield how many reports it wrote, of how many."""
        calls: list[WrittenReports] = []
        if self.writer is not None:
            calls = yield from self.writer.write_pending(
                self.pending, self.briefs, self.communities, embedding
            )
        if embedding is not None:
            put_missing_vectors(self.store, self.communities.keys(), embedding)
        by_model = [report for call in calls for report in call.reports]
        stand_ins = sum(len(call.stood_in) for call in calls)
        return ReportChanges(
            frozenset(report.community_id for report in (*self.written, *by_model)),
            len(self.communities),
            time.monotonic() - begun,
            len(by_model) - stand_ins,
            stand_ins,
            tuple(chain.from_iterable(call.complaints for call in calls)),
            sum(len(call.unanswered) for call in calls),
        )
