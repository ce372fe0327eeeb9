"""Keep a copy of the graph of an index in a graph database.

An update reads both sides in the same ranges of ids and writes what differs. So a run that was
killed continues with what is missing, an index that changed a little writes little, and what
somebody else changed in the mirror is mended. Only the stamp of a finished run makes it current.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from knotwork._graph_servers.bolt_connection import BoltConnection
from knotwork._graph_servers.mirror_content import (
    LABELS,
    SOURCES,
    EdgeKey,
    MirrorContent,
    Properties,
    digest,
)
from knotwork._graph_servers.mirror_database import MirrorDatabase
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


@dataclass(frozen=True, slots=True)
class MirrorPart:
    """A label or type of the mirror beside that of the index.

    ``kind`` is "nodes" or "edges". A checksum is the sum of the hashes of all items, in hexadecimal
    digits. ``differences`` are the first ones, such as "missing: ID".
    """

    kind: str
    name: str
    index_count: int
    mirror_count: int
    index_checksum: str
    mirror_checksum: str
    differences: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """True if both sides have the same items."""
        return (self.index_count, self.index_checksum) == (self.mirror_count, self.mirror_checksum)


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


@dataclass(slots=True)
class _Tally:
    """Counts and checksums of one label or type."""

    kind: str
    name: str
    counts: list[int] = field(default_factory=lambda: [0, 0])
    sums: list[int] = field(default_factory=lambda: [0, 0])
    differences: list[str] = field(default_factory=list)

    def add(self, side: int, key: object, properties: Properties) -> int:
        """Count an item of the index (0) or the mirror (1), and return its hash."""
        found = digest([key, properties])
        self.counts[side] += 1
        self.sums[side] = (self.sums[side] + found) & _CHECKSUM_MASK
        return found

    def note(self, words: str, keys: Sequence[str | EdgeKey]) -> None:
        """Keep the first differences."""
        for key in keys[: max(SHOWN_DIFFERENCES - len(self.differences), 0)]:
            shown = key if isinstance(key, str) else " ".join(filter(None, key))
            self.differences.append(f"{words}: {shown}")

    def part(self) -> MirrorPart:
        """Return what was counted."""
        (ours, theirs), (our_sum, their_sum) = self.counts, self.sums
        return MirrorPart(
            self.kind,
            self.name,
            ours,
            theirs,
            f"{our_sum:016x}",
            f"{their_sum:016x}",
            tuple(self.differences),
        )


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
        parts = (*comparison.parts(), *comparison.other_parts())
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
        self._tallies: list[_Tally] = []
        self.written = 0
        self.removed = 0

    def steps(self) -> Iterator[Progress]:
        """Compare nodes, then edges, and yield the progress."""
        for label in LABELS:
            yield from self._compare_nodes(label)
        counts = self._content.edge_counts()
        for type_ in SOURCES:
            yield from self._compare_edges(type_, counts[type_])

    def _compare_nodes(self, label: str) -> Iterator[Progress]:
        tally = _Tally("nodes", str(label))
        self._tallies.append(tally)
        total = self._content.node_count(label)
        for page in self._content.node_pages(label):
            put, removed = _differences(tally, page.nodes, self._database.nodes(page))
            if self._writes:
                self._database.remove_nodes(label, removed)
                self._database.put_nodes(label, put)
            self._count(put, removed)
            yield Progress(label, tally.counts[0], total)

    def _compare_edges(self, type_: str, total: int) -> Iterator[Progress]:
        tally = _Tally("edges", str(type_))
        self._tallies.append(tally)
        for page in self._content.edge_pages(type_):
            put, removed = _differences(tally, page.edges, self._database.edges(page))
            if self._writes:
                self._database.remove_edges(page, removed)
                self._database.put_edges(page, put)
            self._count(put, removed)
            yield Progress(type_, tally.counts[0], max(total, tally.counts[0]))

    def _count(self, put: Mapping[Key, Properties], removed: set[Key]) -> None:
        self.written += len(put)
        self.removed += len(removed - put.keys())

    def parts(self) -> tuple[MirrorPart, ...]:
        """Return what was counted of each label and type."""
        return tuple(tally.part() for tally in self._tallies)

    def other_parts(self) -> tuple[MirrorPart, ...]:
        """Return the labels and types whose totals in the database are not those compared.

        So are nodes with further labels, and edges that no node of the index has.
        """
        found: list[MirrorPart] = []
        totals = {
            "nodes": self._database.label_counts(),
            "edges": self._database.type_counts(),
        }
        side = 0 if self._writes else 1
        for tally in self._tallies:
            count = totals[tally.kind].pop(tally.name, 0) - tally.counts[side]
            if count:
                totals[tally.kind][f"other {tally.name}"] = count
        for kind, counts in totals.items():
            found += [
                MirrorPart(kind, name or "without a label", 0, count, "", "")
                for name, count in counts.items()
            ]
        return tuple(found)

    def check_totals(self) -> None:
        """Raise GraphServerError if the database holds more than was written."""
        others = self.other_parts()
        if others:
            shown = ", ".join(f"{part.mirror_count:,} {part.name} {part.kind}" for part in others)
            raise GraphServerError(
                f"The database holds what is not of the index: {shown}.",
                fix="Remove it, or empty the database; then run `knotwork graph mirror` again.",
            )


def _differences(
    tally: _Tally, ours: Mapping[Key, Properties], theirs: Sequence[tuple[Key, Properties]]
) -> tuple[dict[Key, Properties], set[Key]]:
    """Count both sides; return what must be put into the mirror, and what removed before."""
    expected = {key: tally.add(0, key, properties) for key, properties in ours.items()}
    found: dict[Key, int] = {}
    repeated: set[Key] = set()
    for key, properties in theirs:
        if key in found:
            repeated.add(key)
        found[key] = tally.add(1, key, properties)
    surplus = {key for key in found if key not in expected}
    put = {
        key: properties
        for key, properties in ours.items()
        if found.get(key) != expected[key] or key in repeated
    }
    tally.note("missing", [key for key in put if key not in found])
    tally.note("different", [key for key in put if key in found and key not in repeated])
    tally.note("repeated", sorted(repeated - surplus))
    tally.note("surplus", sorted(surplus))
    return put, surplus | repeated
