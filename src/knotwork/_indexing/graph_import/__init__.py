"""Import existing graphs unchanged: triples, tables of nodes and edges, GraphML, RDF."""

from __future__ import annotations

from knotwork._indexing.graph_import.formats import FORMATS, ImportOptions
from knotwork._indexing.graph_import.graph_importer import (
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
