"""Open the store that a URL or file path names. To add a scheme, add an entry to `STORES`."""

from __future__ import annotations

from pathlib import Path

from knotwork._config import StoreSettings
from knotwork._registry import Entry, Registry
from knotwork._sqlite_file import FULL, SYNCHRONOUS
from knotwork._stores.base import Store, split_url
from knotwork.errors import UnknownName

STORES: Registry[Store] = Registry(
    "stores",
    (
        Entry("memory", "knotwork._stores.urls:open_temporary", "memory:"),
        Entry("file", "knotwork._stores.urls:open_index_file", "file:PATH"),
    ),
    kind="store",
    protocol=Store,
)


def open_store(
    url: str,
    *,
    read_only: bool = False,
    create: bool = False,
    synchronous: str = FULL,
    limits: StoreSettings | None = None,
) -> Store:
    """Open the store at ``url``: ``memory:``, the path of an index file, or the URL of a server.

    ``synchronous`` ("full" or "normal") is what a power failure may cost: see `sync_commits`.
    ``limits`` are the pool and the time-outs of a store on a server. Raises UnknownName for another
    value or scheme, StoreNotFound if the index is missing and ``create`` is off, SchemaMismatch if
    it is not an index that this version can read, StoreUnavailable if its server cannot be reached.
    """
    scheme, _ = split_url(url)
    if scheme not in STORES:
        builtin = [STORES.find(name).summary for name in STORES.names(plugins=False)]
        plugins = set(STORES.names()) - set(STORES.names(plugins=False))
        raise UnknownName("store scheme", scheme, [*builtin, *(f"{name}://…" for name in plugins)])
    if synchronous not in SYNCHRONOUS:
        raise UnknownName("value of store.synchronous", synchronous, SYNCHRONOUS)
    return STORES.create(
        scheme,
        url=url,
        read_only=read_only,
        create=create,
        synchronous=synchronous,
        limits=limits or StoreSettings(),
    )


def open_temporary() -> Store:
    """Open a new, empty index that is gone once it is closed, with the URL ``memory:``."""
    from knotwork._stores.embedded import EmbeddedStore

    return EmbeddedStore.open_temporary("memory:")


def open_index_file(*, url: str, read_only: bool, create: bool, synchronous: str = FULL) -> Store:
    """Open an index file, as `open_store` does."""
    from knotwork._stores.embedded import EmbeddedStore

    path = Path(split_url(url)[1])
    return EmbeddedStore.open(path, read_only=read_only, create=create, synchronous=synchronous)
