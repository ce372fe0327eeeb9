"""The bundled sample: short linked documents of a made-up company, in English and Chinese."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question about the sample, and what its answer shows."""

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
"""What `knotwork demo` asks."""


def open_sample() -> AbstractContextManager[Path]:
    """Return a context whose value is the folder of the sample documents.

    The folder is the installed one where the package lies unpacked, else a copy that lives as long
    as the context.
    """
    return as_file(files(__name__) / "sample")
