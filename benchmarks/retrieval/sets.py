"""The development sets and how each is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["passages", "characters", "tokens"]


@dataclass(frozen=True, slots=True)
class BenchmarkSet:
    """A data set. ``kind`` says what is scored: passages, or the first so many characters or
    tokens that are retrieved from long documents. ``answers`` are short enough to look for.
    """

    name: str
    folder: str
    kind: Kind = "passages"
    hide_titles: bool = False
    answers: bool = False

    @property
    def splitter(self) -> str:
        return "whole" if self.kind == "passages" else "structure"


MULTI_HOP = ("musique_train100", "hotpot_train100", "twowiki_fg101")
UNTITLED = "_untitled"

_ALL = (
    BenchmarkSet("cmrc2018_trial", "cmrc2018_trial", answers=True),
    BenchmarkSet("drcd300_zh", "drcd300_zh", answers=True),
    BenchmarkSet("drcd_probes_zh", "drcd_probes_zh"),
    BenchmarkSet("musique_train100", "musique_train100", answers=True),
    BenchmarkSet("hotpot_train100", "hotpot_train100", answers=True),
    BenchmarkSet("twowiki_fg101", "twowiki_fg101"),
    *(BenchmarkSet(f"{name}{UNTITLED}", name, hide_titles=True) for name in MULTI_HOP),
    BenchmarkSet("multihoprag_lite", "multihoprag_lite", answers=True),
    BenchmarkSet("popqa300", "popqa300", answers=True),
    BenchmarkSet("twowiki_full6119", "twowiki_full6119"),
    BenchmarkSet("netoperator_zh", "netoperator_zh", kind="characters"),
    BenchmarkSet("graphragbench_novel", "graphragbench_novel", kind="tokens"),
)
SETS = {item.name: item for item in _ALL}
"""By name, the quick ones first."""
