"""The communities of an index: update them, and list them with their reports."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from knotwork._config import Settings
from knotwork._run import Steps, Verb
from knotwork._stores.base import Store
from knotwork._synthesis.ask_request import AskRequest, Retrievers
from knotwork.errors import StoreReadOnly

if TYPE_CHECKING:
    from knotwork._indexing.communities.detection import CommunityOptions
    from knotwork._indexing.communities.index_reports import Topic


class Communities:
    """The communities of the index and their reports; `KnowledgeBase.communities`.

    No method calls a language model.
    """

    def __init__(self, store: Store, settings: Settings, retrievers: Retrievers) -> None:
        self._store = store
        self._settings = settings
        self._retrievers = retrievers

    def is_current(self) -> bool:
        """Return True if communities and reports are up to date with documents and settings."""
        from knotwork._indexing.communities.index_reports import is_current

        return is_current(self._store, options=self._options())

    @Verb
    def update(self, *, rebuild: bool = False) -> Steps[None]:
        """Update communities and reports if documents or settings have changed.

        ``rebuild`` detects all communities again. Raises StoreReadOnly if an update is needed and
        the index was opened read-only, MissingCapability if the store cannot hold communities.
        """
        from knotwork._indexing.communities.index_reports import bring_up_to_date

        if rebuild or not self.is_current():
            try:
                yield from bring_up_to_date.run(
                    self._store, options=self._options(), rebuild=rebuild
                )
            except StoreReadOnly as error:
                raise StoreReadOnly(
                    f"The communities are not up to date. {error.message}",
                    fix=f"Run: knotwork communities --store {shlex.quote(self._store.url)}",
                ) from error

    def list(
        self, about: str = "", *, level: int | None = None, limit: int = 20
    ) -> Sequence[Topic]:
        """Update the communities, and return those about a topic, or the topmost, with reports.

        Communities ``about`` a topic have reports on it, or contain passages that a search finds.
        ``level`` 0 is the topmost. Raises ConfigError for a level that does not exist, and as
        `update`.
        """
        self.update()
        return self.stored(about, level=level, limit=limit)

    def stored(
        self, about: str = "", *, level: int | None = None, limit: int = 20
    ) -> Sequence[Topic]:
        """Return communities as `list` does, as they are stored: without an update.

        Raises ConfigError for a level that does not exist.
        """
        from knotwork._indexing.communities.index_reports import find_topics, ids_of_level
        from knotwork._retrieval.community_search import search_communities

        if not about:
            return find_topics(self._store, level=level, limit=limit)
        ranked = search_communities(
            about,
            store=self._store,
            evidence=self._retrievers.search(AskRequest(about)),
            embedder=self._retrievers.models.query_embedder,
            within=None if level is None else ids_of_level(self._store, level),
            most=limit,
        )
        return find_topics(self._store, ranked=ranked, limit=limit)

    def member_names(self, topics: Iterable[Topic], *, most: int = 8) -> dict[str, str]:
        """Return the names of the ``most`` important members of each community, by entity id.

        Keywords are left out.
        """
        members = [topic.community.entity_ids for topic in topics]
        found = self._store.graph.entities({i for ids in members for i in ids})
        named = {i: e.name for i, e in found.items() if not e.is_keyword}
        return {i: named[i] for ids in members for i in [i for i in ids if i in named][:most]}

    def _options(self) -> CommunityOptions:
        from knotwork._indexing.communities.detection import CommunityOptions

        return CommunityOptions.of(self._settings.communities)
