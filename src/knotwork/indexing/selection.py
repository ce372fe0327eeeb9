"""Which documents of an index a person means by a name, a path or a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from glob import has_magic
from os import sep
from pathlib import Path

from knotwork.errors import UnknownName
from knotwork.indexing.changes import entry_path
from knotwork.indexing.sources import absolute_path
from knotwork.stores.base import LedgerEntry, Store

_NEAR_NAMES = 8
_ALIKE = 0.8
"""Uris share their folders: less alike than this, only those are."""


def select_entries(store: Store, names: Sequence[str]) -> list[LedgerEntry]:
    """Return the ledger entries that are meant, ordered by uri.

    A name is a uri, the path of a file or of a folder, as it is or as the index calls it, or a
    pattern with ``*`` over either. Raises UnknownName with the nearest uris when it means nothing.
    """
    exact = store.ledger.get(names)
    chosen = dict(exact)
    others = [name for name in names if name not in exact]
    if others:
        entries = list(store.ledger.entries())
        for name in others:
            found = [entry for entry in entries if _is_meant(entry, name)]
            if not found:
                near = _near(name, (entry.uri for entry in entries))
                raise UnknownName("document", name, nearest=near)
            chosen.update((entry.uri, entry) for entry in found)
    return sorted(chosen.values(), key=lambda entry: entry.uri)


def _is_meant(entry: LedgerEntry, name: str) -> bool:
    place = entry_path(entry) if entry.root else entry.uri
    path = absolute_path(name)
    if has_magic(name):
        return fnmatchcase(entry.uri, name) or fnmatchcase(place, path)
    folder = name.rstrip("/")
    return (
        place == path
        or place.startswith(path.rstrip(sep) + sep)
        or bool(folder and entry.uri.startswith(folder + "/"))
    )


def _near(name: str, uris: Iterable[str]) -> list[str]:
    """Return the uris that hold a name, whose last parts look like it, or that do as a whole."""
    known = list(uris)
    near = [uri for uri in known if name and name.casefold() in uri.casefold()]
    by_last: dict[str, list[str]] = {}
    for uri in known:
        by_last.setdefault(uri.rpartition("/")[2], []).append(uri)
    for last in get_close_matches(Path(name).name, by_last, n=_NEAR_NAMES):
        near.extend(by_last[last])
    near.extend(get_close_matches(name, known, n=_NEAR_NAMES, cutoff=_ALIKE))
    return list(dict.fromkeys(near))[:_NEAR_NAMES]
