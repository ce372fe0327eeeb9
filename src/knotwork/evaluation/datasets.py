"""Data sets for retrieval: passages, questions and the passages that answer them.

A folder holds ``corpus.jsonl`` with one ``{"pid", "title", "text"}`` a line and ``questions.jsonl``
with ``{"qid", "question", "gold_pids"}``, and optionally ``type``, ``answers`` and ``gold_groups``
(lists of passages any one of which gives a fact). ``questions_null.jsonl`` may hold questions that
the corpus does not answer. A passage is one document of one chunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from knotwork.errors import ConfigError
from knotwork.records import Document, content_id

CORPUS = "corpus.jsonl"
QUESTIONS = "questions.jsonl"
UNANSWERABLE = "questions_null.jsonl"
_ONE_A_LINE = 'Write one object a line, as {"question": "Who …?", "gold_pids": ["DOCUMENT"]}'


@dataclass(frozen=True, slots=True)
class Case:
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
    cases: tuple[Case, ...]
    unanswerable: tuple[Case, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Change with anything in the corpus."""
        return content_id(*(f"{d.uri} {d.revision}" for d in self.documents))


def load_dataset(folder: Path, *, hide_titles: bool = False, limit: int | None = None) -> Dataset:
    """Read a data set; ``hide_titles`` leaves the passages' titles out, ``limit`` takes the first
    questions only.

    Raises ConfigError that names the file and line when a record does not fit the format.
    """
    corpus = _records(folder / CORPUS)
    documents = tuple(_document(record, where, hide_titles) for where, record in corpus)
    if not documents:
        raise ConfigError(f"`{folder / CORPUS}` holds no passage.")
    cases = tuple(_case(record, where) for where, record in _records(folder / QUESTIONS))
    nulls: tuple[Case, ...] = ()
    if (folder / UNANSWERABLE).exists():
        nulls = tuple(_case(record, where) for where, record in _records(folder / UNANSWERABLE))
    name = f"{folder.resolve().name}{' (titles hidden)' if hide_titles else ''}"
    return Dataset(name, documents, cases[:limit], nulls[:limit])


def read_cases(lines: Iterable[str], *, name: str) -> list[Case]:
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
            fix=f"A data set is a folder with `{CORPUS}` and `{QUESTIONS}`.",
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


def _case(record: dict[str, Any], where: str) -> Case:
    named = [[pid] for pid in _listed(record, "gold_pids", where)]
    groups = [_names(group, where) for group in _listed(record, "gold_groups", where) or named]
    return Case(
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
