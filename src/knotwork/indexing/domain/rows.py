"""Rows of delimited text: what parts the columns is told from a sample, a broken row costs itself.

A quotation mark that is opened and never closed would swallow the rest of a file: where no row of
the usual columns comes of it, the lines behind its first are read as rows again.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from knotwork.indexing.domain.lines import Line, find_encoding, read_lines

SAMPLE_LINES = 400
DELIMITERS = ("\t", ",", ";", "|")
_MOST_ROW_LINES = 200
_FIELD_CHARACTERS = 10_000_000
_COMMENT = "#"
_DECLARED = re.compile(r'"?sep=(.)"?')
"""The first line that Excel writes and reads."""


class Row(NamedTuple):
    """The fields of a row, trimmed; ``fault`` says why there are none."""

    line: int
    fields: list[str]
    offset: int
    text: str
    fault: str = ""
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file is written. Without ``quotes`` a quotation mark is a character like others."""

    encoding: str
    delimiter: str
    quotes: bool
    width: int
    has_comments: bool = False


def find_dialect(path: Path, *, delimiter: str = "") -> Dialect:
    """Return how a file is written, told from its first lines.

    Raises IndexingError for what is no text.
    """
    encoding = find_encoding(path)
    lines = [line.text for line in islice(read_lines(path, encoding), SAMPLE_LINES)]
    declared = _DECLARED.fullmatch(lines[0]) if lines else None
    if declared:
        delimiter, lines = delimiter or declared[1], lines[1:]
    has_comments = bool(lines) and lines[0].startswith((f"{_COMMENT} ", f"{_COMMENT}\t", "##"))
    texts = [text for text in lines if text.strip() and not (has_comments and text[0] == _COMMENT)]
    chosen = delimiter or _find_delimiter(texts, path)
    quotes = chosen != " " and _has_quotes(texts, chosen)
    widths = Counter(len(_split(text, chosen, quotes=quotes)) for text in texts)
    width = max(widths, key=lambda size: (widths[size], size)) if widths else 0
    return Dialect(encoding, chosen, quotes, width, has_comments)


def read_rows(path: Path, dialect: Dialect) -> Iterator[Row]:
    """Yield the rows of a file; blank lines and comments are passed over."""
    csv.field_size_limit(_FIELD_CHARACTERS)
    waiting: deque[Line] = deque()
    source = read_lines(path, dialect.encoding)
    while True:
        line = waiting.popleft() if waiting else next(source, None)
        if line is None:
            return
        if line.number == 1 and _DECLARED.fullmatch(line.text):
            continue
        if not line.text.strip() or (dialect.has_comments and line.text.startswith(_COMMENT)):
            continue
        if dialect.quotes and line.text.count('"') % 2:
            yield _long_row(line, waiting, source, dialect)
        else:
            yield _row(line, [line.text], dialect)


def _long_row(first: Line, waiting: deque[Line], source: Iterable[Line], dialect: Dialect) -> Row:
    """Return a row that goes on over several lines, or only its first line if it never ends."""
    taken: list[Line] = []
    following = iter(source)
    for _ in range(_MOST_ROW_LINES):
        line = waiting.popleft() if waiting else next(following, None)
        if line is None:
            break
        taken.append(line)
        if line.text.count('"') % 2:
            row = _row(first, [first.text, *(line.text for line in taken)], dialect)
            if len(row.fields) == dialect.width:
                return row
            break  # what was closed there is another quotation
    waiting.extendleft(reversed(taken))
    return Row(first.number, [], first.offset, first.text, "a quotation mark is never closed")


def _row(line: Line, texts: Sequence[str], dialect: Dialect) -> Row:
    text = "\n".join(texts)
    try:
        fields = _split(text, dialect.delimiter, quotes=dialect.quotes)
    except csv.Error as error:
        return Row(line.number, [], line.offset, text, str(error))
    return Row(line.number, fields, line.offset, text, is_damaged=line.is_damaged)


def _split(text: str, delimiter: str, *, quotes: bool) -> list[str]:
    if not quotes:
        parts = text.split() if delimiter == " " else text.split(delimiter)
        return [part.strip() for part in parts]
    pieces = text.splitlines(keepends=True) if "\n" in text else [text]
    rows = list(csv.reader(pieces, delimiter=delimiter, skipinitialspace=True))
    return [field.strip() for row in rows for field in row]


def _find_delimiter(texts: Sequence[str], path: Path) -> str:
    """Return what parts columns: it stands in each line, as often in one as in the others.

    A file that is one column has any; one of pairs may be parted by white space.
    """
    shares = {sign: _evenness(texts, sign) for sign in DELIMITERS}
    if path.suffix.lower() in {".tsv", ".tab"} and shares["\t"] > 0:
        return "\t"
    best = max(DELIMITERS, key=lambda sign: shares[sign])
    if shares[best] > 0.5:
        return best
    if texts and all(len(text.split()) in {2, 3} for text in texts):
        return " "
    return best if shares[best] > 0 else ","


def _evenness(texts: Sequence[str], sign: str) -> float:
    """Return the share of lines with the usual number of columns, 0 where that is one."""
    counts = Counter(_count_outside(text, sign) for text in texts)
    if not counts:
        return 0.0
    usual = max(counts, key=lambda count: (counts[count], count))
    return counts[usual] / len(texts) if usual else 0.0


def _count_outside(text: str, sign: str) -> int:
    """Count a delimiter outside quotation marks."""
    if sign == "\t" or '"' not in text:
        return text.count(sign)
    return sum(part.count(sign) for part in text.split('"')[::2])


def _has_quotes(texts: Sequence[str], delimiter: str) -> bool:
    """Tell whether quotation marks enclose fields: where one begins a field, one ends it too."""
    fields = [field.strip() for text in texts for field in text.split(delimiter)]
    opened = sum(field.startswith('"') for field in fields)
    if not opened:
        return delimiter != "\t"
    whole = sum(_is_enclosed(field) for field in fields)
    if delimiter == "\t":
        return whole == opened
    return True


def _is_enclosed(field: str) -> bool:
    return len(field) > 1 and field[0] == field[-1] == '"' and field.count('"') % 2 == 0
