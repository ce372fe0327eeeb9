"""Read questions with expected answers, and match expected strings in printed answers.

Files are JSON lines or tables; docs/evaluation.md describes their format. Expected strings match
whole words: "9" does not match "90", but "9个月" matches "为期9个月。", as Chinese and Japanese do
not separate words. Letter case, character width, white space and citation marks are ignored.
Unlike in `metrics.contains_answer`, punctuation counts: "1/32" does not match "132".
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knotwork._extensions.evaluation.datasets import (
    listed_in,
    place_of,
    read_objects,
    refuse_repeated_ids,
)
from knotwork._text.chinese import HAN_AND_KANA, HAN_OR_KANA
from knotwork._text.plain_text import CITATION_MARK
from knotwork.errors import ConfigError

_INSIDE_WORD = rf"[^\W_{HAN_AND_KANA}]"
"""A letter or digit of a script that puts spaces between words."""


def states_all(text: str, parts: Iterable[Sequence[str]]) -> bool:
    """Return True if a text contains at least one alternative of every part."""
    return all(states(text, alternatives) for alternatives in parts)


def states(text: str, alternatives: Sequence[str]) -> bool:
    """Return True if a text contains one of the alternatives as whole words."""
    spaced = normalize_as_printed(text)
    unspaced = spaced.replace(" ", "")
    for wanted in filter(None, map(normalize_as_printed, alternatives)):
        if HAN_OR_KANA.search(wanted):
            if wanted.replace(" ", "") in unspaced:
                return True
            continue
        # Only letters and digits need a word boundary, so "3 %" may be followed by anything.
        left = rf"(?<!{_INSIDE_WORD})" if wanted[0].isalnum() else ""
        right = rf"(?!{_INSIDE_WORD})" if wanted[-1].isalnum() else ""
        if re.search(left + re.escape(wanted) + right, spaced):
            return True
    return False


def normalize_as_printed(text: str) -> str:
    """Normalize a text for comparison: case, character width, white space, no citation marks."""
    bare = CITATION_MARK.sub(" ", text)
    return " ".join(unicodedata.normalize("NFKC", bare).casefold().split())


AnswerParts = tuple[tuple[str, ...], ...]

TABLE_SEPARATORS = {".csv": ",;\t", ".tsv": "\t"}
"""The allowed separators of tables, by file suffix."""

_JSON_EXAMPLE = (
    'Write one object per line, such as {"question": "How high is it?", "answers": ["30 m", "98 '
    'feet"]}, and "answers": [] for a question that the documents do not answer.'
)
_CSV_EXAMPLE = "Start with a header, such as: question,answer,document,quote,type"
_QUOTE_CELLS = 'Quote a cell that contains the separator: "Who, then?"'
_ALTERNATIVE = "|"


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """A question with its expected answer.

    ``answers`` has the alternative strings of each part that the answer must contain; it is empty
    if the documents do not answer the question. ``documents`` are the URIs, or ends of URIs, of
    documents that answer it, and ``quotes`` the passages. ``line`` is the line in the file, from 1,
    or 0 if unknown.
    """

    text: str
    answers: AnswerParts = ()
    documents: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    type: str = ""
    id: str = ""
    line: int = 0

    @property
    def is_answerable(self) -> bool:
        """Whether the documents answer the question."""
        return bool(self.answers)


def read_answer_questions(path: str | Path) -> tuple[AnswerQuestion, ...]:
    """Read a file of questions: a table if its suffix is .csv or .tsv, otherwise JSON lines.

    Raises ConfigError, with the line, for an invalid record or a repeated id, and for a file that
    is missing, empty or not UTF-8.
    """
    source = Path(path)
    text = read_text(source)
    separators = TABLE_SEPARATORS.get(source.suffix.lower())
    if separators is None:
        questions = tuple(_from_json(text.split("\n"), str(source)))
    else:
        questions = tuple(_from_table(text, str(source), separators))
    if not questions:
        fix = _JSON_EXAMPLE if separators is None else _CSV_EXAMPLE
        raise ConfigError(f"`{source}` contains no question.", fix=fix)
    ids = ((question.id, question.line) for question in questions)
    refuse_repeated_ids(ids, str(source), kind="question")
    return questions


def read_text(path: str | Path) -> str:
    """Return the text of a file. Raises ConfigError if it is missing or not UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(f"`{path}` does not exist.", fix="Check the path.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{path}` is not UTF-8.", fix="Save it as UTF-8.") from error


def _from_json(lines: Iterable[str], name: str) -> Iterator[AnswerQuestion]:
    for line, record in read_objects(lines, name=name, fix=_JSON_EXAMPLE):
        where = place_of(name, line)
        yield _refuse_without_answer(_question(record, where, line), where)


def _question(record: dict[str, Any], where: str, line: int) -> AnswerQuestion:
    evidence = [_evidence(item, where) for item in listed_in(record, "evidence", where)]
    groups = listed_in(record, "gold_groups", where) or [listed_in(record, "gold_pids", where)]
    documents = [
        *texts_of(record.get("documents") or [], "documents", where),
        *(document for document, _ in evidence if document),
        *(pid for group in groups for pid in texts_of(group, "gold_groups", where)),
    ]
    return AnswerQuestion(
        text=_checked_question(record.get("question"), where),
        answers=parts_of(record, where),
        documents=tuple(dict.fromkeys(documents)),
        quotes=tuple(quote for _, quote in evidence if quote),
        type=_text(record, "type", where),
        id=str(record.get("qid") or record.get("id") or f"line {line}"),
        line=line,
    )


def parts_of(record: dict[str, Any], where: str) -> AnswerParts:
    """Return the parts of an answer, given as a string, as alternatives, or as lists of them."""
    if "answers" not in record:
        raise ConfigError(f"{where} has no `answers`.", fix=_JSON_EXAMPLE)
    given = record["answers"]
    alternatives = [given] if isinstance(given, str) else given
    if not isinstance(alternatives, list):
        raise ConfigError(f"{where} has no list under `answers`.", fix=_JSON_EXAMPLE)
    nested = [isinstance(item, list) for item in alternatives]
    if any(nested) and not all(nested):
        raise ConfigError(
            f"{where} mixes strings and lists under `answers`.",
            fix='Write alternatives as ["a", "b"], or required parts as [["a", "b"], ["c"]].',
        )
    groups = alternatives if any(nested) else [alternatives] if alternatives else []
    return tuple(_checked_part(texts_of(group, "answers", where), where) for group in groups)


def _from_table(text: str, name: str, separators: str) -> Iterator[AnswerQuestion]:
    separator = max(separators, key=text.lstrip().partition("\n")[0].count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: list[str] = []
    line = 1
    try:
        for row in rows:
            where = place_of(name, line)
            if not any(map(str.strip, row)):
                pass
            elif not columns:
                columns = _checked_header(row, where)
            elif len(row) != len(columns):
                raise ConfigError(
                    f"{where}: expected {len(columns)} cells, found {len(row)}.",
                    fix=_QUOTE_CELLS,
                )
            else:
                cells = list(zip(columns, map(str.strip, row), strict=True))
                yield _refuse_without_answer(_question_of_row(cells, where, line), where)
            line = rows.line_num + 1
    except csv.Error as error:
        raise ConfigError(
            f"{place_of(name, line)} is not CSV: {error}.", fix=_QUOTE_CELLS
        ) from error


def _checked_header(row: Sequence[str], where: str) -> list[str]:
    columns = [cell.strip().casefold() for cell in row]
    if "question" not in columns or not any(c.startswith("answer") for c in columns):
        raise ConfigError(f"{where} has no columns `question` and `answer`.", fix=_CSV_EXAMPLE)
    return columns


def _question_of_row(cells: Sequence[tuple[str, str]], where: str, line: int) -> AnswerQuestion:
    """Return the question of a row. Each column whose name starts with "answer" is a part."""
    values = dict(reversed(cells))
    return AnswerQuestion(
        text=_checked_question(values["question"], where),
        answers=tuple(
            _checked_part(_alternatives(cell), where)
            for column, cell in cells
            if column.startswith("answer") and cell
        ),
        documents=_alternatives(values.get("document", "")),
        quotes=tuple(filter(None, [values.get("quote", "")])),
        type=values.get("type", ""),
        id=values.get("id") or values.get("qid") or f"line {line}",
        line=line,
    )


def _alternatives(cell: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, cell.split(_ALTERNATIVE))))


def _checked_question(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{where} has no text under `question`.")
    return value.strip()


def _checked_part(alternatives: Sequence[str], where: str) -> tuple[str, ...]:
    blank = [item for item in alternatives if not normalize_as_printed(item)]
    if blank or not alternatives:
        what = f"an empty answer `{blank[0]}`" if blank else "a part without an answer"
        raise ConfigError(
            f"{where} has {what}, which nothing can match.",
            fix="Remove it, or give the string that a right answer contains.",
        )
    return tuple(alternatives)


def _evidence(item: object, where: str) -> tuple[str, str]:
    """Return the document and the quote of a piece of evidence. A plain string is a quote."""
    if isinstance(item, str):
        return "", item
    if not isinstance(item, dict):
        raise ConfigError(
            f"{where} has evidence that is neither an object nor a string.",
            fix='Write it as {"file": "manual.html", "quote": "The default is 1s."}',
        )
    return _text(item, "file", where) or _text(item, "document", where), _text(item, "quote", where)


def _text(record: dict[str, Any], name: str, where: str) -> str:
    value = record.get(name) or ""
    if not isinstance(value, str):
        raise ConfigError(f"{where} has no string under `{name}`.")
    return value


def texts_of(value: object, name: str, where: str) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(item, str) for item in texts):
        raise ConfigError(
            f"{where} has values other than strings under `{name}`.",
            fix='Write numbers as strings, such as ["5432"].',
        )
    return texts


def _refuse_without_answer(question: AnswerQuestion, where: str) -> AnswerQuestion:
    """Return the question. Raises ConfigError if it names documents or quotes but no answer."""
    if (question.documents or question.quotes) and not question.answers:
        raise ConfigError(
            f"{where} names documents or quotes, but no answer.",
            fix="Add the answer, or remove them if the documents do not answer the question.",
        )
    return question
