"""Where maps are kept: one file beside the index, and in memory while the index is open.

A map follows from the index, so that the file is a cache: it is written whole or not at all, told
from those of another state by its key, and drawn anew when it cannot be read. It is no part of the
index, since reading a page must not write there: that would count as a change for everyone who
keeps something of the index, and fail while a job writes.
"""

from __future__ import annotations

import logging
import secrets
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from knotwork.service.maps.atlas import GraphMap, Words
from knotwork.service.maps.drawing import draw_map, map_key
from knotwork.stores.base import Store

MAP_SUFFIX = ".map"
T = TypeVar("T")
_KEPT_VIEWS = 32
"""Overviews that are kept in memory: everyone begins with the same."""

_log = logging.getLogger("knotwork.service")


class MapKeeper:
    """Keeps the map of one index. For many threads."""

    def __init__(self, path: Path, *, writes: bool = True) -> None:
        self._path = path
        self._writes = writes
        self._lock = threading.Lock()
        self._map: GraphMap | None = None
        self._generation = -1
        self._views: OrderedDict[str, object] = OrderedDict()
        self._views_lock = threading.Lock()

    def of(self, store: Store) -> GraphMap:
        """Return the map of the index as it is, drawn if need be: once for each state."""
        with self._lock:
            generation = store.generation()
            if self._map is None or generation != self._generation:
                self._map = self._renew(store, map_key(store))
                self._generation = generation
            return self._map

    def recall(self, tag: str, make: Callable[[], T]) -> T:
        """Return the view of this tag, made unless it was one of the last that were asked for.

        A tag changes with whatever the view is made from, and names views of one kind alone.
        """
        with self._views_lock:
            if tag in self._views:
                self._views.move_to_end(tag)
                return cast("T", self._views[tag])
        made = make()
        with self._views_lock:
            self._views[tag] = made
            while len(self._views) > _KEPT_VIEWS:
                self._views.popitem(last=False)
        return made

    def forget(self) -> None:
        """Let go of what is in memory."""
        with self._lock, self._views_lock:
            self._map = None
            self._views.clear()

    def _renew(self, store: Store, key: str) -> GraphMap:
        if self._map is not None and self._map.key == key:
            return self._map
        found = load_map(self._path)
        if found is not None and found.key == key:
            return found
        drawn = draw_map(store, key)
        if self._writes:
            try:
                save_map(drawn, self._path)
            except OSError as error:
                _log.warning("the map `%s` cannot be kept: %s", self._path, error)
        return drawn


def save_map(graph_map: GraphMap, path: Path) -> None:
    """Write a map to a file, whole or not at all. Raises OSError."""
    parts: dict[str, np.ndarray] = {}
    for field in fields(graph_map):
        value = getattr(graph_map, field.name)
        if isinstance(value, Words):
            parts[f"{field.name}.data"], parts[f"{field.name}.ends"] = value.data, value.ends
        elif field.init and not field.name.startswith("_"):
            parts[field.name] = np.asarray(value)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **parts)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def load_map(path: Path) -> GraphMap | None:
    """Return the map of a file; None where there is none that can be read."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
        values: dict[str, object] = {}
        for field in fields(GraphMap):
            if field.name.startswith("_"):
                continue
            if field.type == "Words":
                values[field.name] = Words(parts[f"{field.name}.data"], parts[f"{field.name}.ends"])
            elif field.type in ("str", "float"):
                values[field.name] = parts[field.name].item()
            else:
                values[field.name] = parts[field.name]
        return GraphMap(**values)  # type: ignore[arg-type]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _log.warning("the map `%s` cannot be read, and is drawn anew: %s", path, error)
        return None
