"""An index as a filter leaves it."""

from knotwork._stores.filtered.store import FilteredStore

__all__ = ["FilteredStore"]
