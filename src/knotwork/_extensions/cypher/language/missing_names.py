"""Report the labels, types and properties that a statement names and its graph does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from knotwork._extensions.cypher.language import syntax_tree as tree
from knotwork._extensions.cypher.language.property_graph import PropertyGraph, Value
from knotwork._extensions.cypher.language.static_analysis import walk_parts

_MOST_LISTED = 12


def report_missing(
    query: tree.UnionQuery, graph: PropertyGraph, rows: Sequence[tuple[Value, ...]]
) -> tuple[str, ...]:
    """Return a sentence for each name of a statement that the graph lacks, with the nearest one.

    Properties are looked for only if no row was found or a column is null in each row.
    """
    parts = list(walk_parts(query))
    labels, types = graph.label_names, graph.type_counts
    places = (
        ("No node has the label", tree.NodePattern, "labels", labels),
        ("No relationship has the type", tree.RelationshipPattern, "types", types),
        ("Nothing has the label or type", tree.HasLabel, "labels", {*labels, *types}),
    )
    found: list[str] = []
    for text, kind, field, known_names in places:
        found += _missing(text, _names(parts, kind, field), known_names)
    is_empty = not rows or any(all(v is None for v in column) for column in zip(*rows, strict=True))
    if is_empty and (known := graph.property_names) is not None:
        keys = _property_names(parts)
        found += _missing("No node or relationship has the property", keys, known)
    return tuple(dict.fromkeys(found))


def _names(parts: Iterable[object], kind: type, field: str) -> Iterator[str]:
    """Yield the names in the label expressions of the parts of a kind."""
    for part in parts:
        if isinstance(part, kind):
            for label in walk_parts(getattr(part, field)):
                if isinstance(label, tree.LabelIs) and label.name != "%":
                    yield label.name


def _property_names(parts: Sequence[object]) -> Iterator[str]:
    """Yield the properties that are asked of the variables of patterns, or required in patterns."""
    elements = set()
    for part in parts:
        if isinstance(part, tree.NodePattern | tree.RelationshipPattern):
            elements.add(part.variable)
            if isinstance(part.properties, tree.MapOf):
                yield from (key for key, _ in part.properties.entries)
    for part in parts:
        match part:
            case tree.PropertyAccess(tree.Variable(name), key) if name in elements:
                yield key


def _missing(text: str, names: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    valid = set(known)
    for name in names:
        if name in valid:
            continue
        by_letters = {_letters(item): item for item in valid}
        if near := get_close_matches(_letters(name), by_letters, n=1):
            yield f"{text} `{name}`. Did you mean `{by_letters[near[0]]}`?"
        elif 0 < len(valid) <= _MOST_LISTED:
            listed = ", ".join(f"`{item}`" for item in sorted(valid))
            yield f"{text} `{name}`. The graph has {listed}."
        else:
            yield f"{text} `{name}`."


def _letters(name: str) -> str:
    return name.casefold().strip("_")
