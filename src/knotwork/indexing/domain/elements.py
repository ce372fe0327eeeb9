"""What a reader finds in the files of a graph: things, facts, and what it cannot read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from knotwork.records import PropertyValue

Properties = Mapping[str, PropertyValue]

SPACE = "\x1f"
"""What stands between the space of an id, such as a type of nodes, and the id."""


@dataclass(frozen=True, slots=True)
class ThingRow:
    """What one place of a file says of a thing; further places may say more.

    ``key`` is what identifies it in its graph: its id, after that of a space and `SPACE` where ids
    count within spaces. ``names`` are stated names, the best first, and ``aliases`` others; without
    names one is chosen among the properties, or made of the key. ``is_name`` tells that the key
    itself is how people call it.
    """

    key: str
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    properties: Properties = field(default_factory=dict)
    is_name: bool = False


def spaced_key(space: str, identifier: str) -> str:
    """Return the key of an id within a space; "" is none."""
    return f"{space}{SPACE}{identifier}" if space else identifier


@dataclass(frozen=True, slots=True)
class FactRow:
    """One relation of two things, by their keys; ``are_names`` as ``is_name`` of a thing.

    ``relation`` is its name as the file has it.
    """

    source: str
    relation: str
    target: str
    properties: Properties = field(default_factory=dict)
    are_names: bool = False


@dataclass(frozen=True, slots=True)
class Complaint:
    """A line that could not be read, or not in full (``kept``); ``text`` begins as it does."""

    line: int
    reason: str
    text: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class ReadBytes:
    """How far a reader is, in bytes of its file."""

    count: int


Element = ThingRow | FactRow | Complaint | ReadBytes


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How files are read and indexed.

    ``columns`` are the names of the columns of tables without a header, ``delimiter`` what parts
    them ("" tells by itself). ``vectors`` tells whether passages are embedded, where there is an
    embedder: names always are. By default (None) those of a graph of up to 2,000 things are; full
    text and the graph find the passages of a bigger one, which would take long.
    """

    columns: tuple[str, ...] = ()
    delimiter: str = ""
    vectors: bool | None = None
