"""Find the relations that sentences and table rows state between names, and co-occurrences.

Patterns read every word between two names: the first must be a subject, and the second must not be
part of a longer phrase. A single word that does not fit rules out a relation, which favours
precision over recall. Rows have the form that loaders write: "name: Ada Stone; manager: Bo Finch".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from knotwork._text.languages import HAN_CHARACTER, word_list
from knotwork._transform.rules.chinese_clauses import CHINESE, chinese_units
from knotwork._transform.rules.chinese_sentences import HanSentence
from knotwork._transform.rules.clauses import SentenceRelation, read_clauses
from knotwork._transform.rules.english_clauses import ENGLISH, english_units
from knotwork._transform.rules.lexicon import EnglishSentence, Occurrence
from knotwork._transform.rules.rule_settings import RuleSettings
from knotwork.records import CO_OCCURRENCE_RELATION, entity_id


def sentence_links(
    sentence: EnglishSentence | HanSentence,
    names: Sequence[Occurrence],
    *,
    subject: Occurrence | None,
    kinds: Collection[str] = (),
    columns: str = "",
    settings: RuleSettings,
) -> list[SentenceRelation]:
    """Return the relations of one sentence or row, then its co-occurrences.

    ``names`` are its entities with offsets into its text. The pronoun at the start of a sentence
    refers to ``subject``, the topic of its chunk, None if that is not certain; so does "the" with
    one of ``kinds`` in English. ``columns`` are the names of the columns if the sentence is a row
    of a table, separated by " | ".
    """
    ordered = _distinct(names)
    links = _row_links(sentence.text, ordered, columns)
    if not links and len(ordered) > (subject is None):
        if isinstance(sentence, HanSentence):
            links.extend(read_clauses(CHINESE, chinese_units(sentence, ordered, subject)))
        elif not sentence.headline:
            links.extend(read_clauses(ENGLISH, english_units(sentence, ordered, subject, kinds)))
    return _with_pairs(links, ordered, settings)


def types_by_relation(relation: str) -> tuple[str, str]:
    """Return the types of the names that a relation is between, "" where it may be any."""
    known = _types_by_relation()
    return known.get(relation) or known.get(" ".join(relation.split()[-2:])) or ("", "")


@cache
def _types_by_relation() -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for language in ("en", "zh"):
        for line in word_list(language, "types_by_relation"):
            one, other, relation = line.split(" ", 2)
            found[relation] = (one.strip("-"), other.strip("-"))
    return found


def _row_links(text: str, names: Sequence[Occurrence], columns: str) -> list[SentenceRelation]:
    return [
        SentenceRelation(one.form, words, other.form)
        for one, words, other in read_row(text, names, columns)
    ]


def _with_pairs(
    links: list[SentenceRelation], names: Sequence[Occurrence], settings: RuleSettings
) -> list[SentenceRelation]:
    """Add co-occurrences of names that are adjacent or one name apart and have no relation."""
    related = {frozenset((item.source, item.target)) for item in links}
    pairs = [*pairwise(names), *zip(names, names[2:], strict=False)]
    for before, after in pairs:
        dated = "DATE" in {before.type, after.type}
        if not dated and frozenset((before.form, after.form)) not in related:
            links.append(co_occurrence(before.form, after.form))
    distinct = [item for item in links if item.source != item.target]
    return list(dict.fromkeys(distinct))[: settings.relations_per_sentence]


def co_occurrence(one: str, other: str) -> SentenceRelation:
    """Return the co-occurrence of two names; it is undirected and starts at the smaller id."""
    if entity_id(one) > entity_id(other):
        one, other = other, one
    return SentenceRelation(one, CO_OCCURRENCE_RELATION, other)


def _distinct(names: Sequence[Occurrence]) -> list[Occurrence]:
    ordered: list[Occurrence] = []
    for name in sorted(names, key=lambda n: (n.start, -n.end)):
        if ordered and name.start < ordered[-1].end:
            continue
        ordered.append(name)
    return ordered


FEWEST_FIELDS = 3
"""Least fields of a row; a text with fewer may be prose, such as "Note: see below"."""

_ROW_FIELD = re.compile(r"\s*(?P<column>[^:;,.!?\n]{1,40}): (?P<value>[^;\n]*?)\s*(?:;(?=\s)|$)")
_NO_SUBJECTS = frozenset({"DATE", "NUMBER", "IDENTIFIER"})
_DATE_TYPES = frozenset({"DATE"})


class NamedCell(NamedTuple):
    """A column whose whole value is a name."""

    column: str
    name: Occurrence


def read_row(
    text: str, names: Sequence[Occurrence], columns: str = ""
) -> list[tuple[Occurrence, str, Occurrence]]:
    """Return the relations of a row, from its first value to each further value that is a name.

    A row has bars between its cells, and ``columns`` between theirs; or it is a text of fields, as
    "name: Ada; manager: Bo; site: Tarnby". Returns [] if the first value is not a name.
    """
    places = {(name.start, name.end): name for name in names}
    cells = _cells_of_columns(text, columns, places) if columns else _read_cells(text, places)
    if not cells or cells[0] is None or cells[0].name.type in _NO_SUBJECTS:
        return []
    subject = cells[0].name
    return [
        (subject, _relation_of(cell), cell.name)
        for cell in cells[1:]
        if cell is not None and cell.name.form != subject.form
    ]


_BAR = re.compile(r"(?<!\\)\|")
_INK = re.compile(r"\S(?:.*\S)?", re.DOTALL)


def _cells_of_columns(
    text: str, columns: str, names: Mapping[tuple[int, int], Occurrence]
) -> list[NamedCell | None]:
    bars = [match.end() for match in _BAR.finditer(text)]
    cells: list[NamedCell | None] = []
    for column, (start, after) in zip(columns.split(" | "), pairwise(bars), strict=False):
        value = _INK.search(text, start, after - 1)
        if value is not None:
            name = names.get(value.span())
            cells.append(NamedCell(column.strip(), name) if name and column.strip() else None)
    return cells


def _read_cells(text: str, names: Mapping[tuple[int, int], Occurrence]) -> list[NamedCell | None]:
    cells: list[NamedCell | None] = []
    place = 0
    while place < len(text.rstrip()):
        field = _ROW_FIELD.match(text, place)
        if field is None:
            return []
        name = names.get(field.span("value"))
        cells.append(NamedCell(field["column"].strip(), name) if name else None)
        place = field.end()
    return cells if len(cells) >= FEWEST_FIELDS else []


def _relation_of(cell: NamedCell) -> str:
    """Return the relation of a column: "has manager", "since" for a date, "经理为"."""
    column = cell.column.replace("_", " ").lower()
    if HAN_CHARACTER.search(column):
        return f"{column}为"
    return column if cell.name.type in _DATE_TYPES else f"has {column}"
