"""The command line as a user runs it, and what it and other doors are known to print.

``golden`` compares with a file in ``golden/``. Run the tests once with ``WRITE_GOLDEN=1`` in the
environment to write these files anew, and read the difference before you commit it:

    WRITE_GOLDEN=1 python3 -m pytest tests/lives
"""

from __future__ import annotations

import contextlib
import difflib
import io
import json
import os
import re
import runpy
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

GOLDEN = Path(__file__).with_name("golden")
WRITES = bool(os.environ.get("WRITE_GOLDEN"))

VARYING = {"seconds", "ms", "modified", "request_id", "created", "when", "time", "version", "hash"}
"""Keys of values that differ from run to run or from release to release."""

CLOSE = 0.003
"""A difference of two scores that is none: another processor, or a sum in another order."""


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        assert self.out.count("\n") == 1, self.out + self.err
        return json.loads(self.out)


def command_line(*arguments: object, stdin: str = "") -> Outcome:
    """Run ``python -m knotwork`` in this process."""
    out, err = io.StringIO(), io.StringIO()
    line = ["knotwork", *(str(argument) for argument in arguments)]
    code: Any = 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", line),
        mock.patch.object(sys, "stdin", io.StringIO(stdin)),
    ):
        try:
            runpy.run_module("knotwork", run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
    return Outcome(code, out.getvalue(), err.getvalue())


def golden(name: str, value: Any, *, shape: bool = False) -> None:
    """Compare a value with the file of its name: all of it, or its keys and types alone."""
    found = _shape(value) if shape else _steady(value)
    place = GOLDEN / f"{name}.json"
    if WRITES:
        GOLDEN.mkdir(exist_ok=True)
        place.write_text("\n".join([*_lines(found), ""]), encoding="utf-8")
    kept = json.loads(place.read_text(encoding="utf-8"))
    found = _nearest(found, kept)
    if found != kept:
        changes = difflib.unified_diff(_lines(kept), _lines(found), place.name, "now", lineterm="")
        raise AssertionError("\n".join(["see tests/lives/door.py", *changes]))


def _lines(value: Any) -> list[str]:
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    return text.splitlines()


def _steady(value: Any) -> Any:
    """Return a value without times, temporary folders, and digits that a processor may change."""
    if isinstance(value, dict):
        return {key: "…" if key in VARYING else _steady(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_steady(item) for item in value]
    if isinstance(value, float):
        return round(value, 3) + 0.0
    if isinstance(value, str):
        return re.sub(r"(/[^/\s\"]+)*/pytest-[^/\s]+/(\w+-\d+|\w+\d+)", "TMP", value)
    return value


def _nearest(value: Any, kept: Any) -> Any:
    """Return a value with the kept figures in place of its own where they hardly differ."""
    if isinstance(value, dict) and isinstance(kept, dict):
        return {key: _nearest(item, kept.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(kept, list) and len(value) == len(kept):
        return [_nearest(*pair) for pair in zip(value, kept, strict=True)]
    if isinstance(value, float) and isinstance(kept, float) and abs(value - kept) < CLOSE:
        return kept
    return value


def _shape(value: Any) -> Any:
    """Return the keys and the types of a value; those of a list are those of all its items."""
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        shapes: list[Any] = []
        for item in map(_shape, value):
            if item not in shapes:
                shapes.append(item)
        return sorted(shapes, key=lambda one: json.dumps(one, sort_keys=True))
    return type(value).__name__
