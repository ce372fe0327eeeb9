"""The splitters by name. A new one is one file and one entry here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from knotwork.errors import UnknownName
from knotwork.indexing.splitters.base import Sizes, Splitter
from knotwork.indexing.splitters.parent_child import ParentChildSplitter
from knotwork.indexing.splitters.sentence_window import SentenceWindowSplitter
from knotwork.indexing.splitters.structure import StructureSplitter
from knotwork.indexing.splitters.whole import WholeSplitter

SPLITTERS: Mapping[str, Callable[[Sizes], Splitter]] = {
    StructureSplitter.name: StructureSplitter,
    WholeSplitter.name: WholeSplitter,
    SentenceWindowSplitter.name: SentenceWindowSplitter,
    ParentChildSplitter.name: ParentChildSplitter,
}


def make_splitter(
    name: str = "structure",
    *,
    chunk_tokens: int = 200,
    overlap_tokens: int = 0,
    parent_tokens: int = 800,
) -> Splitter:
    """Return the splitter of this name; sizes are in tokens.

    Raises UnknownName when there is none, ConfigError where the sizes contradict each other.
    """
    if name not in SPLITTERS:
        raise UnknownName("splitter", name, SPLITTERS)
    return SPLITTERS[name](
        Sizes(chunk_tokens=chunk_tokens, overlap_tokens=overlap_tokens, parent_tokens=parent_tokens)
    )
