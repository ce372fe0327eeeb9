"""Import indexes of Microsoft GraphRAG and LightRAG, and export tables of GraphRAG."""

from __future__ import annotations

from knotwork._indexing.foreign_indexes.index_importer import (
    IMPORT_FORMATS,
    ImportReport,
    ImportStep,
    import_index,
    import_steps,
)

__all__ = [
    "IMPORT_FORMATS",
    "ImportReport",
    "ImportStep",
    "import_index",
    "import_steps",
]
