"""Graphs of a domain that others made: triples, tables of nodes and edges, GraphML, RDF."""

from knotwork.indexing.domain.elements import ImportOptions
from knotwork.indexing.domain.formats import FORMATS
from knotwork.indexing.domain.importing import (
    BadLine,
    GraphImportReport,
    GraphImportStep,
    import_graph_steps,
)

__all__ = [
    "FORMATS",
    "BadLine",
    "GraphImportReport",
    "GraphImportStep",
    "ImportOptions",
    "import_graph_steps",
]
