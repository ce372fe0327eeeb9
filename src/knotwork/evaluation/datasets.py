"""Data sets for retrieval: passages, questions and the passages that answer them.

A folder holds ``corpus.jsonl`` with one ``{"pid", "title", "text"}`` a line and ``questions.jsonl``
with ``{"qid", "question", "gold_pids"}``, and optionally ``type``, ``answers`` and ``gold_groups``
(lists of passages any one of which gives a fact). ``questions_null.jsonl`` may hold questions that
the corpus does not answer. A passage is one document of one chunk. A `QuestionSet` is about an
existing index: its gold passages are documents of that index.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from knotwork.errors import ConfigError, UnknownName
from knotwork.records import Document, content_id

CORPUS_FILE = "corpus.jsonl"
QUESTIONS_FILE = "questions.jsonl"
UNANSWERABLE_FILE = "questions_null.jsonl"
_ONE_A_LINE = 'Write one object a line, as {"question": "Who …?", "gold_pids": ["DOCUMENT"]}'


@dataclass(frozen=True, slots=True)
class EvaluationCase:
    """A question. ``gold`` holds, for each fact needed, the passages (uris) that give it."""

    id: str
    question: str
    gold: tuple[frozenset[str], ...] = ()
    type: str = ""
    answers: tuple[str, ...] = ()
    record: dict[str, Any] | None = None

    @property
    def gold_uris(self) -> frozenset[str]:
        """All passages that give some fact."""
        return frozenset().union(*self.gold)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A corpus with questions; ``unanswerable`` are questions that it does not answer."""

    name: str
    documents: tuple[Document, ...]
    cases: tuple[EvaluationCase, ...]
    unanswerable: tuple[EvaluationCase, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Change with anything in the corpus."""
        return content_id(*(f"{d.uri} {d.revision}" for d in self.documents))


def load_dataset(folder: Path, *, hide_titles: bool = False, limit: int | None = None) -> Dataset:
    """Read a data set; ``hide_titles`` leaves the passages' titles out, ``limit`` takes the first
    questions only.

    Raises ConfigError that names the file and line when a record does not fit the format.
    """
    corpus = _records(folder / CORPUS_FILE)
    documents = tuple(_document(record, where, hide_titles) for where, record in corpus)
    if not documents:
        raise ConfigError(f"`{folder / CORPUS_FILE}` holds no passage.")
    cases = tuple(_case(record, where) for where, record in _records(folder / QUESTIONS_FILE))
    nulls: tuple[EvaluationCase, ...] = ()
    if (folder / UNANSWERABLE_FILE).exists():
        nulls = tuple(
            _case(record, where) for where, record in _records(folder / UNANSWERABLE_FILE)
        )
    name = f"{folder.resolve().name}{' (titles hidden)' if hide_titles else ''}"
    return Dataset(name, documents, cases[:limit], nulls[:limit])


def read_cases(lines: Iterable[str], *, name: str) -> list[EvaluationCase]:
    """Read questions from lines as those of ``questions.jsonl``; one without ``qid`` has an id of
    its text.

    Raises ConfigError that names the line, in what is called ``name``, of a record that does not
    fit the format.
    """
    cases = []
    for number, record in read_objects(lines, name=name, fix=_ONE_A_LINE):
        made = _case(record, place_of(name, number))
        cases.append(made if "qid" in record else replace(made, id=content_id(made.question)))
    return cases


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not path.is_file():
        raise ConfigError(
            f"`{path}` does not exist.",
            fix=f"A data set is a folder with `{CORPUS_FILE}` and `{QUESTIONS_FILE}`.",
        )
    with path.open(encoding="utf-8") as lines:
        for number, record in read_objects(lines, name=str(path), fix=_ONE_A_LINE):
            yield place_of(path, number), record


def place_of(name: str | Path, number: int) -> str:
    """Return how messages name a line of a file."""
    return f"{name}, line {number}"


def read_objects(
    lines: Iterable[str], *, name: str, fix: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON object of each line with the number of the line, from 1; skip blank lines.

    Raises ConfigError with ``fix`` for a line that does not contain an object.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = place_of(name, number)
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # of wrong, huge or deep values
            reason = error.msg if isinstance(error, json.JSONDecodeError) else error
            raise ConfigError(f"{where} is not JSON: {reason}.", fix=fix) from error
        if not isinstance(record, dict):
            raise ConfigError(f"{where} is not an object.", fix=fix)
        yield number, record


def _document(record: dict[str, Any], where: str, hide_titles: bool) -> Document:
    text = _field(record, "text", where)
    title = "" if hide_titles else str(record.get("title") or "")
    return Document(uri=_field(record, "pid", where), text=text, title=title)


def _case(record: dict[str, Any], where: str) -> EvaluationCase:
    named = [[pid] for pid in _listed(record, "gold_pids", where)]
    groups = [_names(group, where) for group in _listed(record, "gold_groups", where) or named]
    return EvaluationCase(
        id=str(record.get("qid", where)),
        question=_field(record, "question", where),
        gold=tuple(map(frozenset, groups)),
        type=str(record.get("type", "")),
        answers=_alternatives(record, where),
        record=record,
    )


def _listed(record: dict[str, Any], name: str, where: str) -> list[Any]:
    value = record.get(name) or []
    if not isinstance(value, list):
        raise ConfigError(f"{where} has no list under `{name}`.")
    return value


def _alternatives(record: dict[str, Any], where: str) -> tuple[str, ...]:
    """Return the answers, any one of which will do; also from a list of one required part."""
    given = _listed(record, "answers", where)
    if len(given) == 1 and isinstance(given[0], list):
        given = given[0]
    if any(isinstance(item, list) for item in given):
        raise ConfigError(
            f"{where} has several required parts under `answers`, where each counts alone.",
            fix='Write alternatives, as ["a", "b"]; `knotwork eval FILE` reads required parts.',
        )
    return tuple(map(str, given))


def _names(group: object, where: str) -> list[str]:
    if not isinstance(group, list) or not group:
        raise ConfigError(f"{where} has a group of gold passages that is no list, or empty.")
    return list(map(str, group))


def _field(record: dict[str, Any], name: str, where: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or (name == "pid" and not value):
        raise ConfigError(f"{where} has no text under `{name}`.")
    return value


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions with known documents or answers, and others that the index does not answer."""

    cases: tuple[EvaluationCase, ...]
    unanswerable: tuple[EvaluationCase, ...] = ()

    @property
    def all(self) -> tuple[EvaluationCase, ...]:
        """All questions, those without an answer last."""
        return self.cases + self.unanswerable


def read_question_set(
    questions: Iterable[str],
    unanswerable: Iterable[str] = (),
    *,
    documents: Collection[str],
    names: tuple[str, str] = (QUESTIONS_FILE, UNANSWERABLE_FILE),
) -> QuestionSet:
    """Read the lines of two files of questions about an index of these documents (uris).

    A gold passage is named by the uri of its document, or by the end of it from a slash on where
    only one document has that. ``names`` are those of the files in messages. Raises ConfigError
    that names the line for what does not fit the format, UnknownName for a document that is not in
    the index, and ConfigError for a question with neither, or two of one id.
    """
    ends = _by_ending(documents)
    cases = [_find_gold(case, documents, ends) for case in read_cases(questions, name=names[0])]
    nulls = [replace(case, gold=()) for case in read_cases(unanswerable, name=names[1])]
    if not cases and not nulls:
        raise ConfigError(
            f"`{names[0]}` holds no question.",
            fix='Write one a line: {"question": "Who …?", "gold_pids": ["DOCUMENT"]}',
        )
    for case in cases:
        if not case.gold and not case.answers:
            raise ConfigError(
                f"The question `{case.question[:200]}` has neither gold passages nor answers.",
                fix="Name the documents that answer it under `gold_pids`, or answers under "
                "`answers`; one that has no answer belongs into the file of those.",
            )
    _refuse_repeated_ids([*cases, *nulls])
    return QuestionSet(tuple(cases), tuple(nulls))


def case_as_record(case: EvaluationCase) -> dict[str, object]:
    """Return a question as a line of a file of questions holds it."""
    return {
        "qid": case.id,
        "question": case.question,
        "gold_groups": [sorted(group) for group in case.gold],
        "answers": list(case.answers),
        "type": case.type,
    }


def _by_ending(documents: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Return documents by the ends of their uris."""
    ends: defaultdict[str, list[str]] = defaultdict(list)
    for uri in documents:
        parts = PurePosixPath(uri).parts
        for start in range(len(parts)):
            ends["/".join(parts[start:])].append(uri)
    return ends


def _find_gold(
    case: EvaluationCase, documents: Collection[str], ends: Mapping[str, Sequence[str]]
) -> EvaluationCase:
    """Return a question whose gold passages are named by their uris."""

    def find(name: str) -> str:
        if name in documents:
            return name
        found = ends.get(name, ())
        if len(found) == 1:
            return found[0]
        place = f" of the question `{case.question[:200]}`"
        raise UnknownName("document", name, nearest=found or _nearest(name, documents), place=place)

    gold = tuple(frozenset(map(find, sorted(group))) for group in case.gold)
    return replace(case, gold=gold)


def _nearest(name: str, documents: Collection[str]) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, documents, n=3, cutoff=0.4)


def _refuse_repeated_ids(cases: Iterable[EvaluationCase]) -> None:
    known = set()
    for case in cases:
        if case.id in known:
            raise ConfigError(
                f"Two questions have the id `{case.id}`.", fix="Give each a `qid` of its own."
            )
        known.add(case.id)
