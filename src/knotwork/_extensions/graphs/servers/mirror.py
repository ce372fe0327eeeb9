"""Keep a copy of the graph of an index in a graph database.

An update reads both sides in the same ranges of ids and writes what differs. So a run that was
killed continues with what is missing, an index that changed a little writes little, and what
somebody else changed in the mirror is mended. Only the stamp of a finished run makes it current.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from knotwork._extensions.graphs.servers.bolt_connection import BoltConnection
from knotwork._extensions.graphs.servers.mirror_content import (
    LABELS,
    SOURCES,
    EdgeKey,
    MirrorContent,
    Properties,
    digest,
)
from knotwork._extensions.graphs.servers.mirror_database import MirrorDatabase
from knotwork._run import Progress, Steps
from knotwork._stores.base import Store
from knotwork.errors import GraphServerError, StoreBusy

Key = TypeVar("Key", str, EdgeKey)

INDEX_META = "graph.mirror_id"
"""The setting of an index that identifies its mirror."""

SHOWN_DIFFERENCES = 20
_PASSES = 3
"""How often an update begins again because the index changed meanwhile."""

_CHECKSUM_MASK = (1 << 64) - 1


@dataclass(slots=True)
class MirrorPart:
    """A label or type of the mirror beside that of the index.

    ``kind`` is "nodes" or "edges". A checksum is the sum of the hashes of all items, in hexadecimal
    digits. ``differences`` are the first ones, such as "missing: ID".
    """

    kind: str
    name: str
    index_count: int = 0
    mirror_count: int = 0
    index_checksum: str = ""
    mirror_checksum: str = ""
    differences: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """True if both sides have the same items."""
        return (self.index_count, self.index_checksum) == (self.mirror_count, self.mirror_checksum)

    def note(self, words: str, keys: Sequence[str | EdgeKey]) -> None:
        """Keep the first differences."""
        for key in keys[: max(SHOWN_DIFFERENCES - len(self.differences), 0)]:
            shown = key if isinstance(key, str) else " ".join(filter(None, key))
            self.differences += (f"{words}: {shown}",)


@dataclass(frozen=True, slots=True)
class MirrorReport:
    """The outcome of an update or a verification.

    ``is_current`` is True if the stamp is that of the index and nothing differs. ``written`` and
    ``removed`` count nodes and edges. ``unchanged`` is True if the mirror was not compared, as its
    stamp was that of the index.
    """

    url: str
    generation: int
    is_current: bool
    parts: tuple[MirrorPart, ...] = ()
    written: int = 0
    removed: int = 0
    unchanged: bool = False

    @property
    def differing(self) -> tuple[MirrorPart, ...]:
        """The parts that differ."""
        return tuple(part for part in self.parts if not part.is_equal)


class Mirror:
    """The mirror of one index in one database."""

    def __init__(self, store: Store, connection: BoltConnection) -> None:
        self._store = store
        self._connection = connection

    def update(self, *, full: bool = False) -> Steps[MirrorReport]:
        """Write what differs, and return the report.

        A mirror whose stamp is that of the index is left as it is, unless ``full``. Raises
        GraphServerError if the database holds anything else, StoreBusy if the index changes again
        and again, StoreReadOnly for the first mirror of an index that was opened for reading.
        """
        database = MirrorDatabase(self._connection, self._identify())
        generation, stamp = self._store.generation(), database.stamp()
        if stamp is not None and stamp.is_current(self._index, generation) and not full:
            return MirrorReport(self._connection.url, generation, is_current=True, unchanged=True)
        database.begin(uuid.uuid4().hex, generation)
        written = removed = 0
        for _ in range(_PASSES):
            generation = self._store.generation()
            comparison = _Comparison(MirrorContent(self._store), database, writes=True)
            yield from comparison.steps()
            written, removed = written + comparison.written, removed + comparison.removed
            if self._store.generation() == generation:
                break
        else:
            raise StoreBusy(
                "The index changed each time while it was mirrored; the mirror is not finished.",
                fix="Run `knotwork graph mirror` again when indexing has finished.",
            )
        comparison.check_totals()
        database.finish(generation)
        return MirrorReport(
            self._connection.url, generation, is_current=True, written=written, removed=removed
        )

    def verify(self) -> Steps[MirrorReport]:
        """Compare everything, write nothing, and return the report.

        Raises StoreBusy if the index changes meanwhile.
        """
        database = MirrorDatabase(self._connection, self._index)
        generation, stamp = self._store.generation(), database.stamp()
        comparison = _Comparison(MirrorContent(self._store), database, writes=False)
        yield from comparison.steps()
        if self._store.generation() != generation:
            raise StoreBusy(
                "The index changed while it was compared with its mirror.",
                fix="Verify again when indexing has finished.",
            )
        parts = (*comparison.parts, *comparison.other_parts())
        is_stamped = stamp is not None and stamp.is_current(self._index, generation)
        is_current = is_stamped and all(part.is_equal for part in parts)
        return MirrorReport(self._connection.url, generation, is_current, parts)

    @property
    def _index(self) -> str:
        return self._store.meta().get(INDEX_META, "")

    def _identify(self) -> str:
        """Return what identifies the index; the first mirror stores it."""
        if not self._index:
            with self._store.transaction():
                self._store.set_meta({INDEX_META: uuid.uuid4().hex})
        return self._index


class _Comparison:
    """One pass over both sides, which makes the mirror equal if it ``writes``."""

    def __init__(self, content: MirrorContent, database: MirrorDatabase, *, writes: bool) -> None:
        self._content = content
        self._database = database
        self._writes = writes
        self.parts: list[MirrorPart] = []
        self.written = 0
        self.removed = 0

    def steps(self) -> Iterator[Progress]:
        """Compare nodes, then edges, and yield the progress."""
        database = self._database
        for label in LABELS:
            part, total = self._begin("nodes", label), self._content.node_count(label)
            for page in self._content.node_pages(label):
                put, removed = self._differences(part, page.nodes, database.nodes(page))
                if self._writes:
                    database.remove_nodes(label, removed)
                    database.put_nodes(label, put)
                yield Progress(label, part.index_count, total)
        counts = self._content.edge_counts()
        for type_ in SOURCES:
            part, total = self._begin("edges", type_), counts[type_]
            for edges in self._content.edge_pages(type_):
                put_edges, gone = self._differences(part, edges.edges, database.edges(edges))
                if self._writes:
                    database.remove_edges(edges, gone)
                    database.put_edges(edges, put_edges)
                yield Progress(type_, part.index_count, max(total, part.index_count))

    def _begin(self, kind: str, name: str) -> MirrorPart:
        no_items = _add_checksums("", [])
        part = MirrorPart(kind, str(name), index_checksum=no_items, mirror_checksum=no_items)
        self.parts.append(part)
        return part

    def _differences(
        self,
        part: MirrorPart,
        ours: Mapping[Key, Properties],
        theirs: Sequence[tuple[Key, Properties]],
    ) -> tuple[dict[Key, Properties], set[Key]]:
        """Count both sides; return what must be put into the mirror, and what removed before."""
        expected = {key: digest([key, properties]) for key, properties in ours.items()}
        hashes = [digest([key, properties]) for key, properties in theirs]
        part.index_count += len(ours)
        part.mirror_count += len(theirs)
        part.index_checksum = _add_checksums(part.index_checksum, expected.values())
        part.mirror_checksum = _add_checksums(part.mirror_checksum, hashes)
        counts = Counter(key for key, _ in theirs)
        found = {key: one for (key, _), one in zip(theirs, hashes, strict=True)}
        repeated = {key for key, count in counts.items() if count > 1}
        surplus = found.keys() - expected.keys()
        put = {
            key: properties
            for key, properties in ours.items()
            if found.get(key) != expected[key] or key in repeated
        }
        part.note("missing", [key for key in put if key not in found])
        part.note("different", [key for key in put if key in found and key not in repeated])
        part.note("repeated", sorted(repeated - surplus))
        part.note("surplus", sorted(surplus))
        removed = surplus | repeated
        self.written += len(put)
        self.removed += len(removed - put.keys())
        return put, removed

    def other_parts(self) -> list[MirrorPart]:
        """Return the labels and types whose totals in the database are not those compared.

        So are nodes with further labels, and edges that no node of the index has.
        """
        totals = {"nodes": self._database.label_counts(), "edges": self._database.type_counts()}
        for part in self.parts:
            compared = part.index_count if self._writes else part.mirror_count
            if count := totals[part.kind].pop(part.name, 0) - compared:
                totals[part.kind][f"other {part.name}"] = count
        return [
            MirrorPart(kind, name or "without a label", 0, count)
            for kind, counts in totals.items()
            for name, count in counts.items()
        ]

    def check_totals(self) -> None:
        """Raise GraphServerError if the database holds more than was written."""
        others = self.other_parts()
        if others:
            shown = ", ".join(f"{part.mirror_count:,} {part.name} {part.kind}" for part in others)
            raise GraphServerError(
                f"The database holds what is not of the index: {shown}.",
                fix="Remove it, or empty the database; then run `knotwork graph mirror` again.",
            )


def _add_checksums(before: str, hashes: Iterable[int]) -> str:
    """Return a checksum with the hashes of further items."""
    return f"{(int(before or '0', 16) + sum(hashes)) & _CHECKSUM_MASK:016x}"
