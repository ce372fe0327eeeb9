"""A hash of everything that a store holds, equal on every kind of store.

Each value is hashed alone, as JSON of its fields, and the hashes of a part are added up modulo
2**256 (an incremental multiset hash, as in AdHash by Bellare and Micciancio). So the result does
not depend on the order of writes or reads, and needs no memory. Floats count with all their digits,
and vectors with the bytes that stores keep: float16 for sentences, float32 for all others. What a
store computes from contributions counts too: entities, edges, and the terms of text indexes.

The hash finds accidents. It does not resist somebody who looks for two stores with the same one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any

from knotwork._cancellation import check_cancelled, checked
from knotwork._run import Progress, Steps, Verb
from knotwork._stores.base import Store, require_contents
from knotwork._stores.transfer.parts import Fact, parts_of
from knotwork.records import ENTITY_EDGES

_FORMAT = 1
_MODULUS = 1 << 256
_ITEMS = 1_024


@dataclass(frozen=True, slots=True)
class PartDigest:
    """The number of values of a kind, and the hash of them all as 64 hexadecimal digits."""

    count: int
    hash: str


@dataclass(frozen=True, slots=True)
class StoreDigest:
    """The hash of a store, and those of the kinds of values in it, by name, without empty ones."""

    parts: Mapping[str, PartDigest]

    @property
    def hash(self) -> str:
        """The hash of all parts, as 64 hexadecimal digits."""
        found = blake2b(f"knotwork {_FORMAT}".encode(), digest_size=32)
        for name, part in sorted(self.parts.items()):
            found.update(f"\n{name} {part.count} {part.hash}".encode())
        return found.hexdigest()

    def differing(self, other: StoreDigest) -> tuple[str, ...]:
        """Return the names of the parts that differ from those of another store."""
        names = sorted({*self.parts, *other.parts})
        return tuple(name for name in names if self.parts.get(name) != other.parts.get(name))


@Verb
def store_digest(store: Store, *, without: Collection[str] = ()) -> Steps[StoreDigest]:
    """Return the hash of one state of a store, except for the capabilities ``without``.

    It reads everything once. Raises MissingCapability if the store cannot list its contents.
    """
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    require_contents(store)
    with store.reading():
        for facts in _facts(store, tuple(without)):
            check_cancelled()
            for kind, value in facts:
                data = _encode(value).encode("ascii")
                one = int.from_bytes(blake2b(data, digest_size=32).digest(), "big")
                counts[kind] += 1
                sums[kind] = (sums[kind] + one) % _MODULUS
            yield Progress(f"verifying {store.url}", counts.total())
    return StoreDigest(
        {kind: PartDigest(counts[kind], f"{sums[kind]:064x}") for kind in sorted(counts)}
    )


def _facts(store: Store, without: tuple[str, ...]) -> Iterator[Iterator[Fact]]:
    """Yield the values of each page of each part, then those of what the store aggregates."""
    for part in parts_of(store, without):
        for page in part.pages(store):
            yield part.facts(store, page.items)
    contents = require_contents(store)
    after = ""
    while ids := contents.entity_ids(after, limit=_ITEMS):
        after = ids[-1]
        yield (("entities", entity) for entity in store.graph.entities(ids).values())
    edges = checked(store.graph.edges(types=ENTITY_EDGES))
    yield (("edges", edge) for edge in edges)


_FieldPlan = tuple[tuple[str, bool], ...]
"""The names of the compared fields of a record, and whether each is a float."""

_plans: dict[type, _FieldPlan] = {}


def _field_plan(kind: type[Any]) -> _FieldPlan:
    found = _plans.get(kind)
    if found is None:
        compared = (field for field in fields(kind) if field.compare)
        found = _plans[kind] = tuple((field.name, field.type == "float") for field in compared)
    return found


def _plain(value: Any) -> object:  # noqa: ANN401  a value or record of any kind
    """Return a record, mapping or bytes as values of types that JSON has."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return dict(value)
    kind = type(value)
    held = (
        float(getattr(value, name)) if is_float else getattr(value, name)
        for name, is_float in _field_plan(kind)
    )
    return [kind.__name__, *held]


_encode = json.JSONEncoder(
    default=_plain, separators=(",", ":"), sort_keys=True, check_circular=False
).encode
