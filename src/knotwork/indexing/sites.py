"""Sites: folders of web pages, and the lines that each repeats on most of them.

A page contributes the keys of the lines at its edges (`edge_keys`), which the ledger keeps. What a
site repeats follows from the contributions of the pages that are there, in any order, so that a
page is read again only if it changed, or if what is removed from it did.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import LoadError
from knotwork.indexing.changes import entry_path, lies_in
from knotwork.indexing.discovery import UNKNOWN_TIME_NS, SourceFile, source_file
from knotwork.indexing.loaders import load_edge_keys
from knotwork.indexing.loaders.html import HtmlLoader
from knotwork.records import content_id
from knotwork.stores.base import LedgerEntry, Store

FEWEST_PAGES = 5
"""A line of a site stands on at least so many pages of its folder,"""

LEAST_SHARE = 0.8
"""and on this share of them."""

_PAGE_SUFFIXES = HtmlLoader.suffixes
_KEY_TYPE = np.dtype("<u8")

Keys = NDArray[np.uint64]
_NO_KEYS: Keys = np.zeros(0, _KEY_TYPE)


@dataclass(frozen=True, slots=True)
class SitePage:
    """What a page contributes to its site, and the lines that it is indexed without.

    See `LedgerEntry` for ``edge_keys`` and ``fingerprint``, its ``repeated``.
    """

    edge_keys: bytes = b""
    repeated: frozenset[int] = frozenset()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """The web pages of a run by uri, and unchanged files that it has to read again beside them."""

    pages: Mapping[str, SitePage]
    others: tuple[SourceFile, ...] = ()


def survey_sites(
    store: Store,
    files: Sequence[SourceFile],
    *,
    covers: Callable[[LedgerEntry], bool] | None,
    max_file_mb: float,
) -> Survey:
    """Find what the sites repeat that the pages among ``files`` belong to.

    New and changed pages are read; a page that cannot be read is as it was. ``covers`` is that of
    the run: a page of the ledger that it covers and that is not among ``files`` is gone.
    """
    offered = {file.uri: file for file in files}
    if covers is None and not any(map(_is_page, offered)):
        return Survey({})
    entries = {e.uri: e for e in store.ledger.entries() if _is_page(e.uri) and e.root}
    contributions = {
        uri: _edge_keys(file, entries.get(uri), max_file_mb=max_file_mb)
        for uri, file in offered.items()
        if _is_page(uri)
    }
    left = [e for e in entries.values() if e.uri not in offered]
    if covers is not None:
        left = [e for e in left if not covers(e) or lies_in(e.uri, offered)]
    contributions |= {entry.uri: entry.edge_keys for entry in left}
    pages = _pages(contributions)
    outdated = [e for e in left if not e.error and pages[e.uri].fingerprint != e.repeated]
    others = [source_file(e.uri, Path(entry_path(e)), root=Path(e.root)) for e in outdated]
    return Survey(pages, tuple(file for file in others if _is_unchanged(file, entries[file.uri])))


def _is_page(uri: str) -> bool:
    return "/" in uri and uri.lower().endswith(_PAGE_SUFFIXES)


def _is_unchanged(file: SourceFile, entry: LedgerEntry) -> bool:
    stamp = (file.size, file.modified_ns)
    return file.modified_ns != UNKNOWN_TIME_NS and stamp == (entry.size, entry.modified_ns)


def _edge_keys(file: SourceFile, entry: LedgerEntry | None, *, max_file_mb: float) -> bytes:
    """Return what a page contributes: by the ledger if it did not change, else by its file."""
    if entry is not None and entry.edge_keys and _is_unchanged(file, entry):
        return entry.edge_keys
    try:
        keys = load_edge_keys(file.path, uri=file.uri, max_file_mb=max_file_mb)
    except LoadError:
        return entry.edge_keys if entry is not None and entry.chunks else b""
    return np.array(keys, _KEY_TYPE).tobytes()


def _pages(contributions: Mapping[str, bytes]) -> dict[str, SitePage]:
    """Return all pages with what each is to be indexed without."""
    keys = {uri: np.frombuffer(data, _KEY_TYPE) for uri, data in contributions.items() if data}
    by_folder: defaultdict[str, list[Keys]] = defaultdict(list)
    for uri, own in keys.items():
        for folder in _folders(uri):
            by_folder[folder].append(own)
    repeated = {folder: _repeated(pages) for folder, pages in by_folder.items()}
    known: dict[str, SitePage] = {}
    pages: dict[str, SitePage] = {}
    for uri, data in contributions.items():
        own = keys.get(uri, _NO_KEYS)
        found = [
            np.intersect1d(keys[uri], repeated[folder]) for folder in _folders(uri) if uri in keys
        ]
        removed = np.unique(np.concatenate([_NO_KEYS, *found]))
        mark = content_id(removed.tobytes().hex()) if len(removed) else ""
        pages[uri] = replace(
            known.setdefault(mark, SitePage(b"", frozenset(removed.tolist()), mark)), edge_keys=data
        )
    return pages


def _folders(uri: str) -> Iterator[str]:
    """Yield the folders that a page lies in, the widest first."""
    parts = uri.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _repeated(pages: Sequence[Keys]) -> Keys:
    """Return the keys that most of these pages have, ascending."""
    fewest = max(FEWEST_PAGES, math.ceil(LEAST_SHARE * len(pages)))
    if len(pages) < fewest:
        return _NO_KEYS
    found, counts = np.unique(np.concatenate(pages), return_counts=True)
    return found[counts >= fewest]
