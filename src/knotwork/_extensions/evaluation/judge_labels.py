"""Read answers that a person has labelled, by which a judge is judged.

Each line of the file is a JSON object; docs/evaluation.md describes the format.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from knotwork._extensions.evaluation.answer_questions import parts_of, read_text, texts_of
from knotwork._extensions.evaluation.datasets import place_of, read_objects, refuse_repeated_ids
from knotwork._extensions.evaluation.judge import JUDGED_METRICS, JudgeCase
from knotwork.errors import ConfigError, UnknownName

_EXAMPLE = (
    'Write one object per line, such as {"question": "How high is it?", "answer": "30 m.", '
    '"passages": ["It is 30 m high."], "answers": ["30 m"], "labels": {"faithfulness": 1}}.'
)


def read_labelled_cases(path: str | Path) -> tuple[JudgeCase, ...]:
    """Read a file of labelled answers.

    Raises ConfigError, with the line, for an invalid record or a repeated id, and for a file that
    is missing, empty or not UTF-8; UnknownName for an unknown metric.
    """
    name = str(path)
    cases = [
        (_case(record, place_of(name, line), line), line)
        for line, record in read_objects(read_text(path).split("\n"), name=name, fix=_EXAMPLE)
    ]
    if not cases:
        raise ConfigError(f"`{path}` contains no labelled answer.", fix=_EXAMPLE)
    refuse_repeated_ids(((case.id, line) for case, line in cases), name, kind="answer")
    return tuple(case for case, _ in cases)


def case_as_record(case: JudgeCase) -> dict[str, Any]:
    """Return a case as a record of such a file, with a null for each label to fill in."""
    return {
        "id": case.id,
        "question": case.question,
        "answer": case.text,
        "answered": case.answered,
        "passages": list(case.passages),
        "answers": [list(alternatives) for alternatives in case.expected],
        "labels": {name: case.labels.get(name) for name in JUDGED_METRICS},
    }


def _case(record: dict[str, Any], where: str, line: int) -> JudgeCase:
    for name in ("question", "answer"):
        if not isinstance(record.get(name), str) or not record[name].strip():
            raise ConfigError(f"{where} has no text under `{name}`.", fix=_EXAMPLE)
    answered = record.get("answered", True)
    if not isinstance(answered, bool):
        raise ConfigError(
            f"{where} has `{answered!r:.80}` under `answered`.", fix="Write true or false."
        )
    return JudgeCase(
        id=str(record.get("id") or f"line {line}"),
        question=record["question"].strip(),
        text=record["answer"],
        passages=tuple(texts_of(record.get("passages") or [], "passages", where)),
        expected=parts_of(record, where) if "answers" in record else (),
        answered=answered,
        labels=_labels(record.get("labels"), where),
    )


def _labels(given: object, where: str) -> dict[str, float]:
    if not isinstance(given, dict):
        raise ConfigError(f"{where} has no object under `labels`.", fix=_EXAMPLE)
    labels = {}
    for name, value in given.items():
        if name not in JUDGED_METRICS:
            raise UnknownName("metric", name, JUDGED_METRICS, place=f" in {where}")
        if value is None:
            continue
        if not isinstance(value, int | float) or not 0 <= value <= 1:  # true and false are 1 and 0
            raise ConfigError(
                f"{where} has the label `{value!r:.80}` for `{name}`.",
                fix="Write true or false, a number from 0 to 1, or null for no label.",
            )
        labels[name] = float(value)
    if not labels:
        raise ConfigError(
            f"{where} has no label.",
            fix=f"Label at least one of {', '.join(JUDGED_METRICS)}, or remove the line.",
        )
    return labels
