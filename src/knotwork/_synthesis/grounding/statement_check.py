"""Check the statements of a reply against the passages that the model was given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from knotwork._synthesis.chunk_parts import sentences_of
from knotwork._synthesis.citations import show_sentence
from knotwork._synthesis.grounding.faults import CitedSources, Fault, Finding
from knotwork._synthesis.grounding.texts import covered_share, read_text
from knotwork._synthesis.prompt_context import PromptPassage
from knotwork._text.plain_text import split_row
from knotwork._text.terms import STOP_WORDS, held_terms, terms
from knotwork.records import BlockKind, Chunk

FENCE = "```"
_ROW = re.compile(r"\|.+\|")
_CODE = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?```")
LEAST_CODE = 0.8
"""Code is said by passages that have this share of its distinct words."""

LEAST_REPAIRED = 0.8
"""A passage with a sentence that has this share of a statement's words may be cited for it."""
_MOST_NEAREST = 3
_OF_ITSELF = re.compile(
    r"\b(?:as an? (?:AI|artificial intelligence|(?:large )?language model)\b[^,.]*"
    r"|I(?:'m| am) (?:just |only )?an? (?:AI|assistant|(?:large )?language model)|my training data"
    r"|I (?:cannot|can't|am unable to) (?:assist|help|answer|provide|browse|access)"
    r"|I(?:'m| am) (?:sorry|happy to help|here to help)|I don't have (?:access|enough information))"
    r"|作为(?:一个|一名)?(?:AI|人工智能|大?语言模型|大模型|智能助手)[^，。]*|我是一个?(?:AI|人工智能|语言模型|大模型)"
    r"|我(?:无法|不能)(?:回答|提供|访问|协助)|很抱歉|我的训练数据",
    re.IGNORECASE,
)


Row = list[tuple[str, str]]
"""The cells of a row, each behind the name of its column."""


def is_code(statement: str) -> bool:
    """Return True for code in a fence."""
    return _CODE.match(statement) is not None


class StatementCheck:
    """Checks the statements of one reply against the passages that were given to the model.

    What was compared once is known: a streamed reply is read twice, as it comes and as a whole.
    """

    def __init__(self, passages: Mapping[int, PromptPassage], *, question: str = "") -> None:
        self._passages = passages
        self._question = question
        self._sources: dict[int, tuple[list[str], str]] = {}
        self._cited: dict[tuple[int, ...], CitedSources] = {}
        self._rows: dict[str, Row] = {}
        self._compared: dict[tuple[str, tuple[int, ...]], Finding | None] = {}

    def find_fault(self, statement: str, cited: Sequence[int]) -> Finding | None:
        """Return the fault of a statement that cites passages by number, or None.

        Without citations, any passage may say it, or the nearest ones together.
        """
        if match := _OF_ITSELF.search(statement):
            said = match[0].casefold()
            if not any(said in p.chunk.text.casefold() for p in self._passages.values()):
                return Finding(Fault.SELF, match[0])
        if cited:
            return self._compare(statement, cited)
        nearest = self._nearest(statement)
        first: Finding | None = None
        for group in ([number] for number in nearest):
            finding = self._compare(statement, group)
            if finding is None:
                return None
            first = first or finding
        return self._compare(statement, nearest) and first

    def read_row(self, row: str, columns: Sequence[str]) -> str:
        """Return a row as a statement, with the names of its columns if the passages have them.

        Its cells are then compared with those of tables, too.
        """
        cells, names = split_row(row), set(terms(" ".join(columns)))
        texts = (p.chunk.context + p.chunk.text + p.rows for p in self._passages.values())
        is_named = names <= {term for text in texts for term in held_terms(text, names)}
        statement = name_cells(columns, cells) if is_named else row
        self._rows[statement] = pair_cells(columns, cells)
        return statement

    def find_passage(self, statement: str) -> int | None:
        """Return the number of a passage that says nearly every word of a statement, or None."""
        words = read_text(statement)
        for number in self._nearest(statement):
            if is_code(statement):
                if self._compare(statement, [number]) is None:
                    return number
                continue
            best = max(
                (covered_share(words, read_text(s)) for s in self._read(number)[0]), default=0.0
            )
            if best >= LEAST_REPAIRED and self._compare(statement, [number]) is None:
                return number
        return None

    def _compare(self, statement: str, numbers: Sequence[int]) -> Finding | None:
        key = (statement, tuple(numbers))
        if key not in self._compared:
            check = self._find_code_fault if is_code(statement) else self._find_text_fault
            self._compared[key] = check(statement, key[1])
        return self._compared[key]

    def _find_text_fault(self, statement: str, numbers: tuple[int, ...]) -> Finding | None:
        if row := self._rows.get(statement):
            chunks = [self._passages[number].chunk for number in numbers]
            known = [pair_cells(*read) for chunk in chunks for read in read_rows(chunk)]
            if fault := find_cell_fault(row, known):
                return fault
        return self._cite(numbers).find_fault(statement)

    def _find_code_fault(self, code: str, numbers: tuple[int, ...]) -> Finding | None:
        words = set(terms("\n".join(code.strip().split("\n")[1:])))
        text = "\n".join(self._passages[number].chunk.text for number in numbers)
        is_said = len(held_terms(text, words)) >= LEAST_CODE * len(words)
        return None if is_said else Finding(Fault.WORDS, "")

    def _cite(self, numbers: tuple[int, ...]) -> CitedSources:
        if numbers not in self._cited:
            read = [self._read(number) for number in numbers]
            self._cited[numbers] = CitedSources(
                [sentence for sentences, _ in read for sentence in sentences],
                " / ".join(titles for _, titles in read),
                self._question,
            )
        return self._cited[numbers]

    def _read(self, number: int) -> tuple[list[str], str]:
        """Return the sentences of a passage and the titles around it."""
        if number not in self._sources:
            passage = self._passages[number]
            chunk = passage.chunk
            sentences = [show_sentence(chunk.text_at(span)) for span in sentences_of(chunk)]
            sentences += (name_cells(columns, cells) for columns, cells in read_rows(chunk))
            sentences += passage.rows.split(" / ")
            titles = " / ".join((chunk.document_title, *chunk.headings))
            self._sources[number] = [s for s in sentences if s], titles
        return self._sources[number]

    def _nearest(self, statement: str) -> list[int]:
        asked = set(terms(statement)) - STOP_WORDS
        shared = {
            number: len(held_terms(passage.chunk.text, asked))
            for number, passage in self._passages.items()
        }
        return sorted(shared, key=lambda number: (-shared[number], number))[:_MOST_NEAREST]


def is_row(statement: str) -> bool:
    """Return True for a row of a table."""
    return _ROW.fullmatch(statement.strip()) is not None


def name_cells(columns: Sequence[str], cells: Sequence[str]) -> str:
    """Return the cells of a row with the names of their columns, as "Part: fuse; Price: 2"."""
    named = pair_cells(columns, cells)
    return "; ".join(f"{column}: {cell}" if column else cell for column, cell in named)


def read_rows(chunk: Chunk) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the rows in a chunk: the names of their columns, and their cells."""
    columns: tuple[str, ...] = ()
    for block in chunk.blocks:
        if block.kind is BlockKind.TABLE:
            columns = split_row(block.label)
        elif block.kind is BlockKind.ROW and columns and chunk.span.contains(block.span):
            yield columns, split_row(chunk.text_at(block.span))


def find_cell_fault(row: Row, known: Sequence[Row]) -> Finding | None:
    """Return the fault of a row with a cell that tables have in other rows or columns alone.

    The first cell names the subject of the row; a cell that no table has is not judged. ``known``
    are the rows of the tables.
    """
    tables = [_fold(other) for other in known]
    (_, subject), *others = _fold(row)
    about = [other for other in tables if any(cell == subject for _, cell in other)]
    for place, (column, cell) in enumerate(others, start=1):
        is_known = about and any(cell == value for other in tables for _, value in other)
        if is_known and not any(_gives(other, column, cell) for other in about):
            return Finding(Fault.NUMBER, row[place][1])
    return None


def _fold(row: Row) -> Row:
    return [(column.casefold(), cell.casefold()) for column, cell in row]


def _gives(row: Row, column: str, cell: str) -> bool:
    """Return True if a row has a cell, and below the column of that name if it has one."""
    named = [value for name, value in row if name == column]
    return cell in named or (not named and any(cell == value for _, value in row))


def pair_cells(columns: Sequence[str], cells: Sequence[str]) -> Row:
    """Return the cells of a row with the names of their columns, without empty cells."""
    named = zip(columns, cells, strict=False)
    return [(column, " ".join(cell.split())) for column, cell in named if cell]
