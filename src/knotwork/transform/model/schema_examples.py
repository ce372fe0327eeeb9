"""Schemas from examples: the types and relations of records that a user has.

A record has the fields of `FIELDS`, of which only a relation or the type of an entity must be
there. In a `.csv` or `.tsv` file the first line may name the fields, in any order; without such a
line there are five columns in that order, or three without the names: source type, relation, target
type. In a `.jsonl` file a line is an object with these keys, or a list in one of these orders.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from knotwork.errors import ConfigError
from knotwork.transform.model.cleaning import LONGEST_RELATION, clean_field, fold
from knotwork.transform.model.counted_schema import SchemaCounts, SchemaProposal

FIELDS = ("source", "source type", "relation", "target", "target type")

LONGEST_TYPE = 40
"""Characters of the name of a type; what is longer is a description."""

_TYPED = ("source type", "relation", "target type")
_ENDS = {
    "source": "source", "subject": "source", "head": "source", "from": "source",
    "target": "target", "object": "target", "tail": "target", "to": "target",
    "entity": "source", "name": "source", "主体": "source", "客体": "target",
}  # fmt: skip
_NAMES = {
    **_ENDS,
    **{f"{end} type": f"{field} type" for end, field in _ENDS.items() if end.isascii()},
    **dict.fromkeys(("relation", "predicate", "relationship", "label", "关系"), "relation"),
    **dict.fromkeys(("type", "主体类型"), "source type"),
    "客体类型": "target type",
}

_Rows = Iterator[tuple[int, Mapping[str, Any]]]


def schema_of_examples(path: Path) -> SchemaProposal:
    """Return the schema of the records in a file, with how many examples each entry has.

    Raises ConfigError, which names the line, for what is no record; and for a file that cannot be
    read, of another kind, or without any record.
    """
    counts = SchemaCounts()
    examples = 0
    for number, row in _rows(path):
        _count(row, counts, f"{path}, line {number}")
        examples += 1
    if not counts:
        raise ConfigError(f"`{path}` holds no example.", fix=_FIX)
    noun = "example" if examples == 1 else "examples"
    return counts.exact(counted=f"examples, of {examples:,} {noun} in all")


_FIX = (
    "Give a .csv or .tsv file with the columns `source`, `source type`, `relation`, `target`, "
    "`target type`, or a .jsonl file with these keys."
)


def _rows(path: Path) -> _Rows:
    readers: dict[str, Callable[[Path], _Rows]] = {
        ".csv": lambda path: _table(path, ","),
        ".tsv": lambda path: _table(path, "\t"),
        ".tab": lambda path: _table(path, "\t"),
        ".jsonl": _json_lines,
        ".ndjson": _json_lines,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ConfigError(f"`{path}` is no kind of file that holds examples.", fix=_FIX)
    try:
        yield from reader(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The examples `{path}` cannot be read: {error}.", fix=_FIX) from error


def _table(path: Path, delimiter: str) -> _Rows:
    names: Sequence[str] = ()
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                if not any(cell.strip() for cell in cells):
                    continue
                where = f"{path}, line {reader.line_num}"
                if not names:
                    names, is_head = _head(cells, where)
                    if is_head:
                        continue
                yield reader.line_num, _named(cells, names, where)
        except csv.Error as error:
            raise ConfigError(f"{path}, line {reader.line_num}: {error}.", fix=_FIX) from error


def _head(cells: Sequence[str], where: str) -> tuple[Sequence[str], bool]:
    """Return the fields of the columns, and whether the line names them."""
    names = [_NAMES.get(fold(cell), "") for cell in cells]
    if len([name for name in names if name]) > len(cells) / 2:
        twice = sorted({name for name in names if name and names.count(name) > 1})
        if twice:
            raise ConfigError(f"{where} names two columns `{twice[0]}`.", fix=_FIX)
        return names, True
    return _order(cells, where), False


def _order(cells: Sequence[object], where: str) -> Sequence[str]:
    if len(cells) not in (len(FIELDS), len(_TYPED)):
        raise ConfigError(f"{where} has {len(cells)} fields, where 5 or 3 are needed.", fix=_FIX)
    return FIELDS if len(cells) == len(FIELDS) else _TYPED


def _named(cells: Sequence[Any], names: Sequence[str], where: str) -> Mapping[str, Any]:
    if len(cells) > len(names):
        raise ConfigError(
            f"{where} has {len(cells)} fields, where there are {len(names)} columns.", fix=_FIX
        )
    return {name: cell for name, cell in zip(names, cells, strict=False) if name}


def _json_lines(path: Path) -> _Rows:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ConfigError(f"{where} is not JSON: {error}.", fix=_FIX) from error
            if isinstance(row, list):
                yield number, _named(row, _order(row, where), where)
            elif isinstance(row, dict):
                yield (
                    number,
                    {_NAMES[fold(key)]: value for key, value in row.items() if fold(key) in _NAMES},
                )
            else:
                raise ConfigError(f"{where} is neither an object nor a list.", fix=_FIX)


def _count(row: Mapping[str, Any], counts: SchemaCounts, where: str) -> None:
    """Count a record. Raises ConfigError where it says nothing of types or relations."""
    fields = {name: _text(name, row.get(name), where) for name in FIELDS}
    source, target, relation = fields["source type"], fields["target type"], fields["relation"]
    for name, longest in (*dict.fromkeys(("source type", "target type"), LONGEST_TYPE).items(),
                          ("relation", LONGEST_RELATION)):  # fmt: skip
        if len(fields[name]) > longest:
            raise ConfigError(f"{where}: `{name}` is longer than {longest} characters.", fix=_FIX)
    if not relation and (fields["target"] or target):
        raise ConfigError(f"{where} has a target, but no relation.", fix=_FIX)
    if not relation and not source:
        raise ConfigError(f"{where} has neither a relation nor a type.", fix=_FIX)
    for kind in (source, target):
        if kind:
            counts.add_type(kind)
    if relation:
        counts.add_relation(source, relation, target)


def _text(name: str, value: object, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ConfigError(f"{where}: `{name}` is no text but `{value}`.", fix=_FIX)
    text = clean_field(value)
    return text if any(character.isalnum() for character in text) else ""  # "-" is nothing
