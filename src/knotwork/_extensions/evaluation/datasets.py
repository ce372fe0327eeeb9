"""Read data sets that evaluate retrieval: passages, questions and the passages that answer them.

A data set is a folder with ``corpus.jsonl``, which has one ``{"pid", "title", "text"}`` per line,
and ``questions.jsonl``, with ``{"qid", "question", "gold_pids"}`` and optionally ``type``,
``answers`` and ``gold_groups`` (one list of alternative passages per fact). Questions that the
corpus does not answer may be in ``questions_null.jsonl``. A passage is a document of one chunk. A
`QuestionSet` belongs to an existing index, whose documents are its gold passages.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any

from knotwork.errors import ConfigError, UnknownName
from knotwork.records import Document, content_id

CORPUS_FILE = "corpus.jsonl"
QUESTIONS_FILE = "questions.jsonl"
UNANSWERABLE_FILE = "questions_null.jsonl"
_JSON_EXAMPLE = 'Write one object per line: {"question": "Who …?", "gold_pids": ["DOCUMENT"]}'


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
    documents = tuple(_document(record, where, hide_titles) for where, record in corpus)
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
    for number, record in read_objects(lines, name=name, fix=_JSON_EXAMPLE):
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
        for number, record in read_objects(lines, name=str(path), fix=_JSON_EXAMPLE):
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


def _document(record: dict[str, Any], where: str, hide_titles: bool) -> Document:
    text = _field(record, "text", where)
    title = "" if hide_titles else str(record.get("title") or "")
    return Document(uri=_field(record, "pid", where), text=text, title=title)


def _case(record: dict[str, Any], where: str) -> EvaluationCase:
    named = [[pid] for pid in listed_in(record, "gold_pids", where)]
    groups = [_names(group, where) for group in listed_in(record, "gold_groups", where) or named]
    return EvaluationCase(
        id=str(record.get("qid", where)),
        question=_field(record, "question", where),
        gold=tuple(map(frozenset, groups)),
        type=str(record.get("type", "")),
        answers=_alternatives(record, where),
        record=record,
    )


def listed_in(record: dict[str, Any], name: str, where: str) -> list[Any]:
    """Return a list of a record, [] without one. Raises ConfigError for another value."""
    value = record.get(name) or []
    if not isinstance(value, list):
        raise ConfigError(f"{where} has no list under `{name}`.")
    return value


def _alternatives(record: dict[str, Any], where: str) -> tuple[str, ...]:
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
            fix=_JSON_EXAMPLE,
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
