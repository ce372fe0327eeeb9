"""The passages behind the rows of a statement, where its values name things of the documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from knotwork.records import ENTITY_EDGES, Edge, PropertyValue, QueryResult
from knotwork.retrieval.things import chunks_about
from knotwork.stores.base import Store
from knotwork.text.names import normal_form

READ_ROWS = 50
MOST_NAMES = 100
FAN = 3
ROWS_SCORE = "rows"
"""The part of a hit's score that it has because it states what rows of a query say."""
_NEIGHBOURS = 200
_LONGEST_NAME = 120
_RELATED_WORTH = 1.0
_ABOUT_WORTH = 0.5


def cite_rows(
    result: QueryResult, asked_names: Sequence[str], store: Store
) -> tuple[dict[str, float], dict[str, tuple[str, ...]]]:
    """Return the chunks that state what rows say, with their worth in (0, 1], and their names.

    A chunk that states a relation between a thing that the question names and one of the rows is
    worth most; one that is about a thing of the rows is worth less the more rows there are.
    """
    found = store.graph.lookup(list(_forms(result)))
    asked = store.graph.lookup([normal_form(name) for name in asked_names])
    answers = {entity.id: entity.name for entity in found.values()}
    for entity in asked.values():
        answers.pop(entity.id, None)
    worths: dict[str, float] = {}
    seeds: dict[str, tuple[str, ...]] = {}
    for entity_id, edges in _edges_of([entity.id for entity in asked.values()], store).items():
        for edge in edges:
            other = edge.target if edge.source == entity_id else edge.source
            if other in answers:
                for chunk_id in edge.chunks:
                    _raise(worths, chunk_id, _RELATED_WORTH)
                    seeds.setdefault(chunk_id, (answers[other],))
    share = _ABOUT_WORTH / max(len(answers), 1) ** 0.5
    for entity_id, chunks in chunks_about(store, list(answers)[:MOST_NAMES], fan=FAN).items():
        for chunk in chunks:
            _raise(worths, chunk.id, share * max(min(chunk.score, 1.0), 0.0))
            seeds.setdefault(chunk.id, (answers[entity_id],))
    return {key: worth for key, worth in worths.items() if worth > 0}, seeds


def row_names(result: QueryResult) -> list[str]:
    """Return the texts of the rows that may be names, in order, each once."""
    return list(dict.fromkeys(_texts(result.rows[:READ_ROWS])))[:MOST_NAMES]


def _forms(result: QueryResult) -> dict[str, None]:
    return {form: None for name in row_names(result) if (form := normal_form(name))}


def _texts(values: Iterable[PropertyValue]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            if 0 < len(value) <= _LONGEST_NAME:
                yield value
        elif isinstance(value, Mapping):
            yield from _texts(value.values())
        elif isinstance(value, list | tuple):
            yield from _texts(value)


def _edges_of(entity_ids: Sequence[str], store: Store) -> dict[str, list[Edge]]:
    return store.graph.neighbours(entity_ids, direction="both", types=ENTITY_EDGES, fan=_NEIGHBOURS)


def _raise(worths: dict[str, float], key: str, worth: float) -> None:
    worths[key] = max(worth, worths.get(key, 0.0))
