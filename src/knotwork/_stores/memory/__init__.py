"""The memory store: simple and obviously right, the oracle that every other store is tested by."""

from knotwork._stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
