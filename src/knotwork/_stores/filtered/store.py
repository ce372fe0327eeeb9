"""Read-only store restricted by a filter: excluded documents, chunks and relations do not exist.

Cypher statements run on the restricted index graph, and on imported graphs whose chunks are all
allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache

from knotwork._registry import PARTS
from knotwork._stores.base import Store, TextIndex, VectorIndex, whole_of
from knotwork._stores.capabilities import (
    Capabilities,
    CypherRunner,
    PropertyGraphStore,
)
from knotwork._stores.fields import URI, FieldStore, Selection
from knotwork._stores.filtered.documents import (
    FilteredDocuments,
    FilteredFields,
    FilteredLedger,
    FilteredLinks,
    FilteredQuestions,
    FilteredTexts,
    FilteredVectors,
    refuse_to_write,
)
from knotwork._stores.filtered.graph import (
    FilteredCommunities,
    FilteredGraph,
    FilteredHomonyms,
    FilteredReadings,
    FilteredResolutions,
)
from knotwork._stores.id_sets import IdSet
from knotwork._stores.vectors import final_name
from knotwork.records import GRAPH_URI, Comparison, Condition


class FilteredStore:
    """A read-only store with only the selected documents and chunks of another store.

    Excluded chunks do not exist here, nor do relations that only they state, nor reports and
    summaries that were written from one of them, nor tables. So all retrievers respect the filter
    without knowing about it. Term statistics are those of the whole store. So are, for speed, the
    numbers of chunks, names and types of entities, and the schema; ``is_apart`` counts them again,
    for readers who may not know of the rest. Searches return as many allowed items as requested, if
    there are enough.

    The selection does not follow writes: select again after one.
    """

    set_meta = refuse_to_write
    transaction = refuse_to_write
    remove_documents = refuse_to_write

    def __init__(
        self, store: Store, fields: FieldStore, selection: Selection, *, is_apart: bool = False
    ) -> None:
        self.url = store.url
        self.selection = selection
        self._store = store
        totals = cache(lambda: fields.totals(selection)) if is_apart else None
        self.documents = FilteredDocuments(store.documents, selection, totals=totals)
        self.ledger = FilteredLedger(store.ledger, selection)
        self.graph = FilteredGraph(
            store.graph,
            selection,
            mentioned=lambda: fields.mentioned(selection.chunks),
            totals=totals,
        )
        whole = store.capabilities
        self._communities: FilteredCommunities | None = None
        readings: FilteredReadings | None = None
        questions: FilteredQuestions | None = None
        property_graphs: FilteredPropertyGraphs | None = None
        cypher: CypherRunner | None = None
        if whole.communities is not None:
            self._communities = FilteredCommunities(whole.communities, selection, self.graph)
        if whole.readings is not None:
            readings = FilteredReadings(whole.readings, selection)
        if whole.questions is not None:
            questions = FilteredQuestions(whole.questions, selection)
        if whole.property_graphs is not None:
            property_graphs = FilteredPropertyGraphs(whole.property_graphs, fields, selection)
        if whole.cypher is not None:
            cypher = PARTS.load("filtered_cypher")(self, whole.cypher).run
        self.capabilities = Capabilities(
            communities=self._communities,
            readings=readings,
            questions=questions,
            resolutions=(
                FilteredResolutions(whole.resolutions, self.graph) if whole.resolutions else None
            ),
            homonyms=FilteredHomonyms(whole.homonyms, selection) if whole.homonyms else None,
            property_graphs=property_graphs,
            fields=FilteredFields(fields, selection),
            links=FilteredLinks(whole.links, selection) if whole.links else None,
            cypher=cypher,
            companions=whole.companions,
            whole=whole_of(store),
        )

    def texts(self, name: str) -> TextIndex:
        return FilteredTexts(self._store.texts(name), self._allowed(name))

    def vectors(self, name: str) -> VectorIndex:
        return FilteredVectors(self._store.vectors(name), self._allowed(name))

    def meta(self) -> Mapping[str, str]:
        return self._store.meta()

    def generation(self) -> int:
        """Return the generation of the whole store."""
        return self._store.generation()

    def reading(self) -> AbstractContextManager[None]:
        """Read one state of the whole store in the block."""
        return self._store.reading()

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a write transaction of the whole store."""
        return self._store.writing

    def close(self) -> None:
        """Do nothing, as the whole store stays open."""

    def _allowed(self, index: str) -> IdSet:
        """Return the allowed ids of the index of this name."""
        name = final_name(index)
        if name == "entity":
            return self.graph.allowed_entities
        if name == "report":
            return self._communities.reported if self._communities else IdSet(())
        return self.selection.chunks


class FilteredPropertyGraphs:
    """The `PropertyGraphStore` of a filtered index: graphs whose chunks are all allowed."""

    put = refuse_to_write
    remove = refuse_to_write

    def __init__(self, held: PropertyGraphStore, fields: FieldStore, selection: Selection) -> None:
        self._held = held
        self._fields = fields
        self._selection = selection

    def names(self) -> list[str]:
        return [name for name in self._held.names() if self._is_whole(name)]

    def _is_whole(self, name: str) -> bool:
        uri = f"{GRAPH_URI}{name}"
        source = self._fields.select(Condition(URI, Comparison.EQUAL, (uri, f"{uri}/*")))
        return len(source.chunks) > 0 and len(source.chunks - self._selection.chunks) == 0
