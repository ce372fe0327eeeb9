"""Moving in from the indexes of other systems, and out again."""

from knotwork.indexing.exchange.importing import (
    ImportReport,
    ImportStep,
    import_index,
    import_steps,
)
from knotwork.indexing.exchange.places import IMPORT_FORMATS

__all__ = [
    "IMPORT_FORMATS",
    "ImportReport",
    "ImportStep",
    "import_index",
    "import_steps",
]
