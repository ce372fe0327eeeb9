"""Where a name occurs: what every finder of names returns."""

from __future__ import annotations

from typing import NamedTuple


class Occurrence(NamedTuple):
    """A name in a sentence; offsets are those of the text that was searched.

    A ``part`` lies inside a longer name ("Elmham" in "Bishop of Elmham"). What is ``doubtful`` may
    be any words, as those between Chinese quotation marks are; it finds chunks, and is not shown.
    """

    start: int
    end: int
    form: str
    type: str = ""
    part: bool = False
    doubtful: bool = False
