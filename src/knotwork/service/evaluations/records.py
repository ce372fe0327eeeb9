"""Evaluations as files beside an index: what is asked, and a line for each question asked.

``NAME.files/evaluations/ID/`` holds ``plan.json``, ``questions.jsonl``, ``results.jsonl`` and, once
all is done, ``summary.json``. A line that a kill broke off does not count.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from knotwork.errors import NotFound
from knotwork.evaluation.datasets import QUESTIONS, UNANSWERABLE, Case, read_cases
from knotwork.evaluation.questions import QuestionSet, as_record
from knotwork.service.shapes.evaluations import MeasuredQuestion, OutcomeShape, PlanShape
from knotwork.service.workspaces import EVALUATIONS, INCOMING, Workspace

_ID = re.compile(r"[0-9a-f]{16}")
_PLAN = "plan.json"
_RESULTS = "results.jsonl"
_SUMMARY = "summary.json"


class Summary(BaseModel):
    """What a finished evaluation came to."""

    finished: str
    outcomes: list[OutcomeShape]


class Evaluation:
    """One evaluation in its folder."""

    def __init__(self, path: Path, plan: PlanShape) -> None:
        self.path = path
        self.plan = plan

    def questions(self) -> QuestionSet:
        """Return what is asked."""
        return QuestionSet(*(tuple(self._cases(name)) for name in (QUESTIONS, UNANSWERABLE)))

    def results(self) -> Iterator[MeasuredQuestion]:
        """Yield what came back so far, in the order in which it was asked."""
        for line in self._lines():
            yield MeasuredQuestion.model_validate_json(line)

    def mend(self) -> None:
        """Remove a line that is not whole, before others are added."""
        path = self.path / _RESULTS
        if path.exists():
            whole = sum(map(len, self._lines()))
            if whole < path.stat().st_size:
                os.truncate(path, whole)

    def add(self, result: MeasuredQuestion) -> None:
        """Keep a result."""
        with (self.path / _RESULTS).open("ab") as results:
            results.write(result.model_dump_json().encode() + b"\n")

    def finish(self, outcomes: Sequence[OutcomeShape]) -> None:
        """Keep what all came to."""
        summary = Summary(finished=now(), outcomes=list(outcomes))
        _write_whole(self.path / _SUMMARY, summary.model_dump_json(indent=1))

    def summary(self) -> Summary | None:
        """Return what all came to, if it is finished."""
        try:
            text = (self.path / _SUMMARY).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return Summary.model_validate_json(text)

    def _cases(self, name: str) -> list[Case]:
        with (self.path / name).open(encoding="utf-8") as lines:
            return read_cases(lines, name=name)

    def _lines(self) -> Iterator[bytes]:
        try:
            with (self.path / _RESULTS).open("rb") as lines:
                yield from (line for line in lines if line.endswith(b"\n"))
        except FileNotFoundError:
            return


class Evaluations:
    """The evaluations of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._folder = workspace.files / EVALUATIONS

    def create(self, plan: PlanShape, questions: QuestionSet) -> Evaluation:
        """Keep a plan with its questions."""
        beside = self._folder / f"{INCOMING}{plan.id}"
        beside.mkdir(parents=True)
        for name, cases in ((QUESTIONS, questions.cases), (UNANSWERABLE, questions.unanswerable)):
            lines = (json.dumps(as_record(case), ensure_ascii=False) + "\n" for case in cases)
            (beside / name).write_text("".join(lines), encoding="utf-8")
        (beside / _PLAN).write_text(plan.model_dump_json(indent=1), encoding="utf-8")
        return Evaluation(beside.rename(self._folder / plan.id), plan)

    def find(self, identifier: str) -> Evaluation:
        """Return an evaluation. Raises NotFound."""
        path = self._folder / identifier
        if _ID.fullmatch(identifier) and (path / _PLAN).is_file():
            return _open(path)
        raise NotFound(
            f"There is no evaluation `{identifier}`.", fix="List those there are: GET …/evaluations"
        )

    def listed(self) -> list[Evaluation]:
        """Return all evaluations, the newest first."""
        try:
            names = [path for path in self._folder.iterdir() if _ID.fullmatch(path.name)]
        except FileNotFoundError:
            return []
        return sorted(
            map(_open, names), key=lambda found: (found.plan.created, found.plan.id), reverse=True
        )

    def remove(self, identifier: str) -> Evaluation:
        """Remove an evaluation with its results, and return it as it was. Raises NotFound."""
        found = self.find(identifier)
        # Renamed first: half of it is never seen.
        leaving = found.path.rename(found.path.with_name(f"{INCOMING}{identifier}"))
        shutil.rmtree(leaving)
        return found


def now() -> str:
    """Return the time as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _open(path: Path) -> Evaluation:
    text = (path / _PLAN).read_text(encoding="utf-8")
    return Evaluation(path, PlanShape.model_validate_json(text))


def _write_whole(path: Path, text: str) -> None:
    beside = path.with_name(f"{INCOMING}{path.name}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
