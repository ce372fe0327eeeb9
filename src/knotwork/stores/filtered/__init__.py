"""An index as a filter leaves it."""

from knotwork.stores.filtered.store import FilteredStore

__all__ = ["FilteredStore"]
