"""The bundled sample: short linked documents of a fictional company, in English and Chinese."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

__all__ = ["QUESTIONS", "DemoQuestion", "open_sample"]


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question about the sample, and what its answer demonstrates."""

    text: str
    point: str


QUESTIONS = (
    DemoQuestion(
        text="Where was the designer of the Kestrel probe born?",
        point="One page names the designer, another her birthplace: the graph joins them.",
    ),
    DemoQuestion(
        text="海外出差由谁审批？",
        point="A question in Chinese; the citation leads to the chapter.",
    ),
    DemoQuestion(
        text="Who is the mayor of Corvane?",
        point="The documents mention Corvane but no mayor, and it says so.",
    ),
)
"""The questions of `knotwork demo`."""


def open_sample() -> AbstractContextManager[Path]:
    """Return a context manager for the folder of the sample documents.

    If the package is installed in a zip file, the folder is a copy that is deleted on exit.
    """
    return as_file(files(__name__) / "sample")
