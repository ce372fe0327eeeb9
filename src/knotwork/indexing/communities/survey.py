"""What an index is about as a whole: its communities, each with its report, up to date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from knotwork.errors import ConfigError
from knotwork.indexing.communities.material import VERSION
from knotwork.indexing.communities.refreshing import (
    FOREIGN_NAMES,
    NAMES_META,
    OPTIONS_META,
    CommunityOptions,
    community_store,
    names_key,
    refresh_communities,
)
from knotwork.indexing.communities.reporting import ReportChanges, ReportRefresh
from knotwork.indexing.communities.writing import ReportWriter
from knotwork.indexing.embedding import Embedding
from knotwork.indexing.steps import Steps, finish
from knotwork.records import Community, CommunityReport, content_id
from knotwork.stores.base import Scored, Store
from knotwork.stores.communities import CommunityStore, read_parents

CONTENT_META = "communities_of"
"""Setting of an index that says of which documents its communities and reports are."""

FORM_META = "reports_form"
"""Setting of an index that says in which form its extractive reports are."""

WRITTEN_META = "reports_of"
"""Setting of an index that says for which documents a model has written all its reports."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A community and its report; ``score`` is its rank score in a search (see
    `knotwork.retrieval.reports.search_communities`), else 0.
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
    if meta.get(CONTENT_META) != _content(store):
        return False
    if meta.get(NAMES_META) == FOREIGN_NAMES:
        return True
    if options is not None and meta.get(OPTIONS_META) != options.fingerprint:
        return False
    return meta.get(FORM_META) == VERSION and meta.get(NAMES_META, "") == names_key(store)


def mark_current(store: Store) -> None:
    """Note that communities and reports, from elsewhere, are those of the documents as they are."""
    store.set_meta({CONTENT_META: _content(store), NAMES_META: FOREIGN_NAMES})


@contextmanager
def staying_current(store: Store) -> Iterator[None]:
    """Keep communities and reports current over a change to the ledger that they do not depend on.

    For use in a transaction.
    """
    meta = store.meta()
    found = meta.get(CONTENT_META, "") == _content(store)
    written = meta.get(WRITTEN_META, "") == _written_mark(store)
    yield
    if found:
        store.set_meta({CONTENT_META: _content(store)})
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
    return finish(steps)


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
        content, mark = _content(store), _written_mark(store)
        refresh_communities(store, options, rebuild=rebuild)
        refresh.put_extractive()
        store.set_meta({CONTENT_META: content, FORM_META: VERSION})
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
    return f"{_content(store)} {names_key(store)}".rstrip()


def _content(store: Store) -> str:
    entries = store.ledger.entries()
    return content_id(*(f"{e.uri} {e.document_id} {e.revision} {e.settings}" for e in entries))
