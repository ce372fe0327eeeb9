"""A store as a filter leaves it, for everything that reads an index."""

from __future__ import annotations

from collections.abc import Mapping

from knotwork.stores.base import Ledger, Store, TextIndex, VectorIndex
from knotwork.stores.communities import StoresCommunities
from knotwork.stores.fields import FieldStore, Selection
from knotwork.stores.filtered.communities import FilteredCommunities, FilteredReadings
from knotwork.stores.filtered.documents import (
    FilteredDocuments,
    FilteredQuestions,
    refuse_to_write,
)
from knotwork.stores.filtered.graph import FilteredGraph
from knotwork.stores.filtered.graphs import FilteredCypher, FilteredPropertyGraphs
from knotwork.stores.filtered.indexes import FilteredTexts, FilteredVectors
from knotwork.stores.homonyms import HomonymStore, StoresHomonyms
from knotwork.stores.id_sets import IdSet
from knotwork.stores.queries import RunsCypher, StoresPropertyGraphs
from knotwork.stores.questions import StoresQuestions
from knotwork.stores.readings import StoresReadings
from knotwork.stores.resolutions import ResolutionStore, StoresResolutions
from knotwork.stores.staging import final_name


class FilteredStore:
    """The part of a store that a selection leaves, as a store that can only be read.

    What is excluded does not exist here, so that whatever searches this store returns nothing else:
    no passage, no relation that only excluded passages state, and no report or summary that was
    made of one. Counts and term statistics are those of the whole store. Search finds as many
    allowed items as are asked for, if there are so many.

    The selection is that of one moment; after a write, make another.
    """

    fields: FieldStore
    communities: FilteredCommunities
    readings: FilteredReadings
    questions: FilteredQuestions
    resolutions: ResolutionStore
    homonyms: HomonymStore
    property_graphs: FilteredPropertyGraphs

    set_meta = refuse_to_write
    transaction = refuse_to_write
    remove_documents = refuse_to_write

    def __init__(self, store: Store, fields: FieldStore, selection: Selection) -> None:
        self.url = store.url
        self.capabilities = store.capabilities
        self.selection = selection
        self._store = store
        self.documents = FilteredDocuments(store.documents, selection)
        self.graph = FilteredGraph(
            store.graph, selection, mentioned=lambda: fields.mentioned(selection.chunks)
        )
        if isinstance(store, StoresCommunities):
            self.communities = FilteredCommunities(store.communities, selection, self.graph)
        if isinstance(store, StoresReadings):
            self.readings = FilteredReadings(store.readings, selection)
        if isinstance(store, StoresResolutions):
            self.resolutions = store.resolutions
        if isinstance(store, StoresQuestions):
            self.questions = FilteredQuestions(store.questions, selection)
        if isinstance(store, StoresHomonyms):
            self.homonyms = store.homonyms
        if isinstance(store, StoresPropertyGraphs):
            self.property_graphs = FilteredPropertyGraphs(store.property_graphs, fields, selection)
        if isinstance(store, RunsCypher):
            self.cypher = FilteredCypher(self, store).run

    @property
    def ledger(self) -> Ledger:
        """The ledger of the whole store."""
        return self._store.ledger

    def texts(self, name: str) -> TextIndex:
        """Return the text index of this name, searched among what is allowed."""
        return FilteredTexts(self._store.texts(name), self._allowed(name))

    def vectors(self, name: str) -> VectorIndex:
        """Return the vector index of this name, searched among what is allowed."""
        return FilteredVectors(self._store.vectors(name), self._allowed(name))

    def meta(self) -> Mapping[str, str]:
        """Return all settings stored with the index."""
        return self._store.meta()

    def generation(self) -> int:
        """Return the generation of the whole store."""
        return self._store.generation()

    def close(self) -> None:
        """Do nothing: the whole store is closed by whoever opened it."""

    def _allowed(self, index: str) -> IdSet:
        """Return the ids that searches in an index of this name may find."""
        name = final_name(index)
        if name == "entity":
            return self.graph.allowed_entities
        if name == "report":
            held = getattr(self, "communities", None)
            return held.reported if isinstance(held, FilteredCommunities) else IdSet(())
        return self.selection.chunks
