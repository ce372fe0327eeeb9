"""Read questions with what answers them, and match expected strings in printed answers.

`AnswerQuestion` is a question with its expected answer; its files are JSON lines or tables, which
docs/evaluation.md describes. Expected strings match whole words: "9" does not match "90", but
"9个月" matches "为期9个月。", as Chinese and Japanese do not separate words. Letter case, character
width, white space and citation marks are ignored. Unlike in `metrics.contains_answer`, punctuation
counts: "1/32" does not match "132".

`EvaluationCase` is a question with gold passages. A data set of them is a folder with
``corpus.jsonl``, which has one ``{"pid", "title", "text"}`` per line, and ``questions.jsonl``, with
``{"qid", "question", "gold_pids"}`` and optionally ``type``, ``answers`` and ``gold_groups`` (one
list of alternative passages per fact). Questions that the corpus does not answer may be in
``questions_null.jsonl``. A passage is a document of one chunk. A `QuestionSet` belongs to an
existing index, whose documents are its gold passages.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any

from knotwork._text.languages import HAN_AND_KANA, HAN_OR_KANA
from knotwork._text.plain_text import CITATION_MARK
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import Document, content_id

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
    name = str(source)
    found: Iterable[AnswerQuestion]
    if separators is None:
        lines = read_objects(text.split("\n"), name=name, fix=_JSON_EXAMPLE)
        found = (_question(record, place_of(name, line), line) for line, record in lines)
    else:
        found = _from_table(text, name, separators)
    questions = tuple(_refuse_without_answer(question, name) for question in found)
    if not questions:
        fix = _JSON_EXAMPLE if separators is None else _CSV_EXAMPLE
        raise ConfigError(f"`{source}` contains no question.", fix=fix)
    ids = ((question.id, question.line) for question in questions)
    refuse_repeated_ids(ids, name, kind="question")
    return questions


def read_text(path: str | Path) -> str:
    """Return the text of a file. Raises ConfigError if it is missing or not UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(f"`{path}` does not exist.", fix="Check the path.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{path}` is not UTF-8.", fix="Save it as UTF-8.") from error


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
                yield _question_of_row(cells, where, line)
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


def _refuse_without_answer(question: AnswerQuestion, name: str) -> AnswerQuestion:
    """Return the question. Raises ConfigError if it names documents or quotes but no answer."""
    if (question.documents or question.quotes) and not question.answers:
        raise ConfigError(
            f"{place_of(name, question.line)} names documents or quotes, but no answer.",
            fix="Add the answer, or remove them if the documents do not answer the question.",
        )
    return question


CORPUS_FILE = "corpus.jsonl"
QUESTIONS_FILE = "questions.jsonl"
UNANSWERABLE_FILE = "questions_null.jsonl"
_CASE_EXAMPLE = 'Write one object per line: {"question": "Who …?", "gold_pids": ["DOCUMENT"]}'


@dataclass(frozen=True, slots=True)
class EvaluationCase:
    """A question. ``gold`` has, for each required fact, the URIs of the passages that state it."""

    id: str
    question: str
    gold: tuple[frozenset[str], ...] = ()
    type: str = ""
    answers: tuple[str, ...] = ()
    record: dict[str, Any] | None = None

    @property
    def gold_uris(self) -> frozenset[str]:
        """The URIs of all gold passages."""
        return frozenset().union(*self.gold)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A corpus with questions. It does not answer those in ``unanswerable``."""

    name: str
    documents: tuple[Document, ...]
    cases: tuple[EvaluationCase, ...]
    unanswerable: tuple[EvaluationCase, ...] = ()

    @property
    def fingerprint(self) -> str:
        """A hash of the corpus."""
        return content_id(*(f"{d.uri} {d.revision}" for d in self.documents))


def load_dataset(folder: Path, *, hide_titles: bool = False, limit: int | None = None) -> Dataset:
    """Read a data set: without titles if ``hide_titles``, and only the first ``limit`` questions.

    Raises ConfigError, with file and line, for an invalid record.
    """
    corpus = _records(folder / CORPUS_FILE)
    documents = tuple(
        Document(
            uri=_field(record, "pid", where),
            text=_field(record, "text", where),
            title="" if hide_titles else str(record.get("title") or ""),
        )
        for where, record in corpus
    )
    if not documents:
        raise ConfigError(f"`{folder / CORPUS_FILE}` contains no passages.")
    cases = tuple(_case(record, where) for where, record in _records(folder / QUESTIONS_FILE))
    nulls: tuple[EvaluationCase, ...] = ()
    if (folder / UNANSWERABLE_FILE).exists():
        nulls = tuple(
            _case(record, where) for where, record in _records(folder / UNANSWERABLE_FILE)
        )
    name = f"{folder.resolve().name}{' (titles hidden)' if hide_titles else ''}"
    return Dataset(name, documents, cases[:limit], nulls[:limit])


def read_cases(lines: Iterable[str], *, name: str) -> list[EvaluationCase]:
    """Read questions in the format of ``questions.jsonl``. Without ``qid``, the id is a hash.

    Raises ConfigError, with ``name`` and the line, for an invalid record.
    """
    cases = []
    for number, record in read_objects(lines, name=name, fix=_CASE_EXAMPLE):
        case = _case(record, place_of(name, number))
        cases.append(case if "qid" in record else replace(case, id=content_id(case.question)))
    return cases


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not path.is_file():
        raise ConfigError(
            f"`{path}` does not exist.",
            fix=f"A data set is a folder with `{CORPUS_FILE}` and `{QUESTIONS_FILE}`.",
        )
    with path.open(encoding="utf-8") as lines:
        for number, record in read_objects(lines, name=str(path), fix=_CASE_EXAMPLE):
            yield place_of(path, number), record


def place_of(name: str | Path, number: int) -> str:
    """Return the name of a line of a file for error messages."""
    return f"{name}, line {number}"


def read_objects(
    lines: Iterable[str], *, name: str, fix: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line, from 1, and its JSON object. Blank lines are skipped.

    Raises ConfigError with ``fix`` for a line without an object.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = place_of(name, number)
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # invalid, huge or deeply nested values
            reason = error.msg if isinstance(error, json.JSONDecodeError) else error
            raise ConfigError(f"{where} is not JSON: {reason}.", fix=fix) from error
        if not isinstance(record, dict):
            raise ConfigError(f"{where} is not an object.", fix=fix)
        yield number, record


def refuse_repeated_ids(ids: Iterable[tuple[str, int]], name: str, *, kind: str) -> None:
    """Raise ConfigError if two records of a file have one id; ``ids`` come with their lines."""
    known: dict[str, int] = {}
    for own, line in ids:
        if own in known:
            raise ConfigError(
                f"{place_of(name, line)} repeats the id `{own}` of line {known[own]}.",
                fix=f"Give each {kind} a unique id, or omit the ids.",
            )
        known[own] = line


def _case(record: dict[str, Any], where: str) -> EvaluationCase:
    named = [[pid] for pid in listed_in(record, "gold_pids", where)]
    groups = [_names(group, where) for group in listed_in(record, "gold_groups", where) or named]
    return EvaluationCase(
        id=str(record.get("qid", where)),
        question=_field(record, "question", where),
        gold=tuple(map(frozenset, groups)),
        type=str(record.get("type", "")),
        answers=_case_answers(record, where),
        record=record,
    )


def listed_in(record: dict[str, Any], name: str, where: str) -> list[Any]:
    """Return a list of a record, [] without one. Raises ConfigError for another value."""
    value = record.get(name) or []
    if not isinstance(value, list):
        raise ConfigError(f"{where} has no list under `{name}`.")
    return value


def _case_answers(record: dict[str, Any], where: str) -> tuple[str, ...]:
    """Return the alternative answers. A list with a single required part is accepted too."""
    given = listed_in(record, "answers", where)
    if len(given) == 1 and isinstance(given[0], list):
        given = given[0]
    if any(isinstance(item, list) for item in given):
        raise ConfigError(
            f"{where} has several required parts under `answers`; only alternatives are allowed.",
            fix='Write alternatives such as ["a", "b"]; `knotwork eval FILE` allows parts.',
        )
    return tuple(map(str, given))


def _names(group: object, where: str) -> list[str]:
    if not isinstance(group, list) or not group:
        raise ConfigError(f"{where} has a group of gold passages that is empty or not a list.")
    return list(map(str, group))


def _field(record: dict[str, Any], name: str, where: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or (name == "pid" and not value):
        raise ConfigError(f"{where} has no text under `{name}`.")
    return value


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions about an index: with known documents or answers, or unanswerable."""

    cases: tuple[EvaluationCase, ...]
    unanswerable: tuple[EvaluationCase, ...] = ()

    @property
    def all(self) -> tuple[EvaluationCase, ...]:
        """All questions, the unanswerable ones last."""
        return self.cases + self.unanswerable


def read_question_set(
    questions: Iterable[str],
    unanswerable: Iterable[str] = (),
    *,
    documents: Collection[str],
    names: tuple[str, str] = (QUESTIONS_FILE, UNANSWERABLE_FILE),
) -> QuestionSet:
    """Read the lines of two files of questions about an index with these documents (URIs).

    A gold passage is given by the URI of its document, or by its end after a slash if that is
    unique. ``names`` are the names of the files in messages. Raises ConfigError for an invalid
    record, a question without gold passages and answers, or a repeated id, and UnknownName for a
    document that is not in the index.
    """
    ends = _by_ending(documents)
    cases = [_find_gold(case, documents, ends) for case in read_cases(questions, name=names[0])]
    nulls = [replace(case, gold=()) for case in read_cases(unanswerable, name=names[1])]
    if not cases and not nulls:
        raise ConfigError(
            f"`{names[0]}` contains no questions.",
            fix=_CASE_EXAMPLE,
        )
    for case in cases:
        if not case.gold and not case.answers:
            raise ConfigError(
                f"The question `{case.question[:200]}` has neither gold passages nor answers.",
                fix="Add the documents that answer it as `gold_pids`, or its `answers`. Move an "
                f"unanswerable question to `{names[1]}`.",
            )
    _refuse_repeated_ids([*cases, *nulls])
    return QuestionSet(tuple(cases), tuple(nulls))


def case_as_record(case: EvaluationCase) -> dict[str, object]:
    """Return a question as a record of ``questions.jsonl``."""
    return {
        "qid": case.id,
        "question": case.question,
        "gold_groups": [sorted(group) for group in case.gold],
        "answers": list(case.answers),
        "type": case.type,
    }


def _by_ending(documents: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Return the URIs of documents by each of their ends after a slash."""
    ends: defaultdict[str, list[str]] = defaultdict(list)
    for uri in documents:
        parts = PurePosixPath(uri).parts
        for start in range(len(parts)):
            ends["/".join(parts[start:])].append(uri)
    return ends


def _find_gold(
    case: EvaluationCase, documents: Collection[str], ends: Mapping[str, Sequence[str]]
) -> EvaluationCase:
    """Return a question with its gold passages replaced by full URIs."""

    def find(name: str) -> str:
        if name in documents:
            return name
        found = ends.get(name, ())
        if len(found) == 1:
            return found[0]
        place = f" of the question `{case.question[:200]}`"
        nearest = found or get_close_matches(name, documents, n=3, cutoff=0.4)
        raise UnknownName("document", name, nearest=nearest, place=place)

    gold = tuple(frozenset(map(find, sorted(group))) for group in case.gold)
    return replace(case, gold=gold)


def _refuse_repeated_ids(cases: Iterable[EvaluationCase]) -> None:
    known = set()
    for case in cases:
        if case.id in known:
            raise ConfigError(
                f"Two questions have the id `{case.id}`.", fix="Give each a unique `qid`."
            )
        known.add(case.id)
