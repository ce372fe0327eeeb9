"""Questions about an index as it is: their gold passages are its documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from knotwork.errors import ConfigError, UnknownName
from knotwork.evaluation.datasets import QUESTIONS, UNANSWERABLE, Case, read_cases


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions with known documents or answers, and others that the index does not answer."""

    cases: tuple[Case, ...]
    unanswerable: tuple[Case, ...] = ()

    @property
    def all(self) -> tuple[Case, ...]:
        """All questions, those without an answer last."""
        return self.cases + self.unanswerable


def read_question_set(
    questions: Iterable[str],
    unanswerable: Iterable[str] = (),
    *,
    documents: Collection[str],
    names: tuple[str, str] = (QUESTIONS, UNANSWERABLE),
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
    _refuse_twins([*cases, *nulls])
    return QuestionSet(tuple(cases), tuple(nulls))


def as_record(case: Case) -> dict[str, object]:
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


def _find_gold(case: Case, documents: Collection[str], ends: Mapping[str, Sequence[str]]) -> Case:
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


def _refuse_twins(cases: Iterable[Case]) -> None:
    known = set()
    for case in cases:
        if case.id in known:
            raise ConfigError(
                f"Two questions have the id `{case.id}`.", fix="Give each a `qid` of its own."
            )
        known.add(case.id)
