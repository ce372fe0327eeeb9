"""Enumerate paths of bounded length from and between the entities of a question.

Paths over the same relations from the same entity form one `RelationPath`, because they state the
same about it; their ends are one set. Enumeration is level by level. Each hop is read for the
patterns that fit the question's words best, so hubs and long paths cost no more than others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations

from knotwork._extensions.paths.path_question import PathSeed, RelationWording
from knotwork._stores.base import RelationLink, Store
from knotwork.records import ALIAS_RELATION, CO_OCCURRENCE_RELATION

PathStep = tuple[str, bool]
"""A relation, and True if it is followed from its source to its target."""
PathLayer = Mapping[str, str]
"""The entities of one hop, each with the entity before it."""


@dataclass(frozen=True, slots=True)
class PathBounds:
    """The bounds of enumeration."""

    hops: int = 3
    beam: int = 24
    """Patterns of a seed that continue after each hop."""
    kept: int = 120
    """Entities stored for each hop of a pattern while patterns are compared."""
    walked: int = 40
    """Number of these entities from which a pattern continues."""
    reads: int = 1_500
    """Entities whose relations are read for a question."""
    links: int = 400
    """Strongest relations read of an entity, in each direction."""
    patterns: int = 800
    """Maximum number of patterns that are compared."""


@dataclass(frozen=True, slots=True)
class RelationPath:
    """Paths from ``seed`` over ``steps``; ``sizes`` are the numbers of entities at each hop.

    A pattern that ends at another entity of the question has ``tail``, the pattern from there that
    meets this one in ``layers[-1]``; its answers are the entities where they meet.
    """

    seed: PathSeed
    steps: tuple[PathStep, ...]
    layers: tuple[PathLayer, ...]
    sizes: tuple[int, ...]
    tail: RelationPath | None = None

    @property
    def all_steps(self) -> tuple[PathStep, ...]:
        """The steps from the seed to the end, those of the tail reversed."""
        if self.tail is None:
            return self.steps
        turned = [(relation, not forward) for relation, forward in reversed(self.tail.steps)]
        return (*self.steps, *turned)

    @property
    def key(self) -> tuple[str, tuple[PathStep, ...], str]:
        """The identity of the pattern among those of the question."""
        return self.seed.entity.id, self.all_steps, self.tail.seed.entity.id if self.tail else ""

    @property
    def answers(self) -> tuple[str, ...]:
        """The entities at the end of the paths, in the order in which they were found."""
        return tuple(self.layers[-1])

    def walk(self, answer: str) -> tuple[str, ...]:
        """Return the entities of the path through one of the answers, starting at the seed."""
        before = _chain(self.layers, answer)[::-1]
        after = _chain(self.tail.layers, answer)[1:] if self.tail else []
        return (*before, *after)


def _chain(layers: Sequence[PathLayer], last: str) -> list[str]:
    """Return the entities from ``last`` back to the seed."""
    chain = [last]
    for layer in reversed(layers):
        chain.append(layer[chain[-1]])
    return chain


def enumerate_patterns(
    seeds: Sequence[PathSeed], reader: LinkReader, wording: RelationWording, bounds: PathBounds
) -> list[RelationPath]:
    """Return the patterns from and between the seeds, most promising first.

    The order is deterministic. Patterns of one seed differ in their steps.
    """
    found = {seed.entity.id: _from_seed(seed, reader, wording, bounds) for seed in seeds}
    single = {
        key: [pattern for pattern in patterns if len(pattern.steps) == 1]
        for key, patterns in found.items()
    }
    # Up to three hops between two seeds, and entities that two relations of one seed both lead to.
    pairs = [
        (one, other)
        for first, second in permutations(seeds, 2)
        for one in found[first.entity.id]
        for other in single[second.entity.id]
        if len(one.steps) <= 2
    ]
    for patterns in single.values():
        pairs += combinations(sorted(patterns, key=lambda p: p.key), 2)
    joined = (_join(one, other) for one, other in pairs)
    distinct = {pattern.key: pattern for pattern in joined if pattern is not None}
    for patterns in found.values():
        distinct.update({p.key: p for p in patterns})
    ranked = sorted(distinct.values(), key=lambda p: (-promise(p, wording), len(p.steps), p.key))
    return ranked[: bounds.patterns]


def promise(pattern: RelationPath, wording: RelationWording) -> float:
    """Return how well the relations of a pattern and the words of the question cover each other."""
    total = sum(wording.named.values())
    own = wording.named_by({relation for relation, _ in pattern.all_steps})
    strengths = [wording.strength(relation) for relation, _ in pattern.all_steps]
    covered = sum(own.values()) / total if total else 0.0
    return covered + sum(strengths) / len(strengths) + 0.1 * pattern.seed.weight


def complete_pattern(pattern: RelationPath, reader: LinkReader, *, most: int) -> list[str]:
    """Return up to ``most`` answers of a pattern by following its relations without other bounds.

    Known answers come first.
    """
    found = dict.fromkeys(pattern.answers)
    found.update(dict.fromkeys(_reach(pattern, reader, most)))
    if pattern.tail is not None:
        other = set(_reach(pattern.tail, reader, most))
        known = set(pattern.answers)
        return [node for node in found if node in known or node in other][:most]
    return list(found)[:most]


def _reach(pattern: RelationPath, reader: LinkReader, most: int) -> list[str]:
    before: dict[str, frozenset[str]] = {
        key: frozenset(pattern.seed.ids) for key in pattern.seed.ids
    }
    for step in pattern.steps:
        reader.read(before)
        following: dict[str, frozenset[str]] = {}
        for node, visited in before.items():
            for link in reader.of(node):
                is_wanted = (link.relation, link.forward) == step and link.other not in visited
                if is_wanted and len(following) < most:
                    following.setdefault(link.other, visited | {link.other})
        before = following
    return list(before)


def _from_seed(
    seed: PathSeed, reader: LinkReader, wording: RelationWording, bounds: PathBounds
) -> list[RelationPath]:
    found: list[RelationPath] = []
    root = RelationPath(seed, (), ({},), (1,))
    frontier = [root]
    for hop in range(bounds.hops):
        starts = {
            p.key: list(islice(p.layers[-1], bounds.walked)) if hop else list(seed.ids)
            for p in frontier
        }
        wanted = dict.fromkeys(node for nodes in starts.values() for node in nodes)
        reader.read(islice(wanted, max(bounds.reads - reader.count, 0)))
        children = [
            child
            for pattern in frontier
            for child in _extend(pattern, starts[pattern.key], reader, bounds)
        ]
        wording.learn(relation for child in children for relation, _ in child.steps[-1:])
        children.sort(key=lambda p: (-promise(p, wording), p.key))
        found += children
        frontier = children[: bounds.beam]
    return found


def _extend(
    pattern: RelationPath, starts: Sequence[str], reader: LinkReader, bounds: PathBounds
) -> list[RelationPath]:
    """Return the patterns one hop longer; no path visits an entity twice."""
    layers: defaultdict[PathStep, dict[str, str]] = defaultdict(dict)
    counts: defaultdict[PathStep, int] = defaultdict(int)
    own = set(pattern.seed.ids)
    before = pattern.layers if pattern.steps else ()
    for start in starts:
        visited = own.union(_chain(before, start))
        for link in reader.of(start):
            if link.other in visited:
                continue
            step = link.relation, link.forward
            layer = layers[step]
            if link.other not in layer:
                counts[step] += 1
                if len(layer) < bounds.kept:
                    layer[link.other] = start
    return [
        RelationPath(
            pattern.seed,
            (*pattern.steps, step),
            (*before, layer),
            (*pattern.sizes, counts[step]),
        )
        for step, layer in layers.items()
    ]


def _join(one: RelationPath, other: RelationPath) -> RelationPath | None:
    """Return two patterns as one that ends where they meet; None if they do not meet.

    No path between two seeds visits an entity twice.
    """
    met = one.layers[-1].keys() & other.layers[-1].keys()
    if one.seed is not other.seed:
        chains = {n: [*_chain(one.layers, n), *_chain(other.layers, n)[1:]] for n in met}
        met = {node for node, chain in chains.items() if len(set(chain)) == len(chain)}
    if not met:
        return None
    last = {node: before for node, before in one.layers[-1].items() if node in met}
    sizes = (*one.sizes[:-1], len(met))
    return RelationPath(one.seed, one.steps, (*one.layers[:-1], last), sizes, other)


UNSTATED_RELATIONS = frozenset({ALIAS_RELATION, CO_OCCURRENCE_RELATION, ""})
"""Relations without a statement, which paths do not follow."""


class LinkReader:
    """Reads and caches the links of entities, at most ``limit`` per direction."""

    def __init__(self, store: Store, *, limit: int) -> None:
        self._graph = store.graph
        self._limit = limit
        self._known: dict[str, list[RelationLink]] = {}

    @property
    def count(self) -> int:
        """The number of entities read."""
        return len(self._known)

    def read(self, ids: Iterable[str]) -> None:
        """Read the links of these entities, unless they are cached."""
        missing = [key for key in dict.fromkeys(ids) if key not in self._known]
        if not missing:
            return
        found = self._graph.relation_links(missing, limit=self._limit)
        for key in missing:
            links = [link for link in found.get(key, ()) if link.relation not in UNSTATED_RELATIONS]
            links.sort(key=lambda link: (-link.weight, link.other, link.relation, link.forward))
            self._known[key] = links

    def of(self, entity_id: str) -> Sequence[RelationLink]:
        """Return the links of an entity, or none if it was not read."""
        return self._known.get(entity_id, ())
