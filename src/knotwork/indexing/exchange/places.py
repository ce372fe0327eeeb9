"""Finding folders: which system wrote what lies there, and where exactly its files are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from knotwork.errors import IndexingError, UnknownName
from knotwork.indexing.exchange import graphrag, lightrag
from knotwork.indexing.exchange.foreign import ForeignIndex

AUTO = "auto"

_DETECTORS: Mapping[str, Callable[[Path], bool]] = {
    graphrag.FORMAT: graphrag.is_graphrag,
    lightrag.FORMAT: lightrag.is_lightrag,
}
_FOLDERS = ("", "output", "artifacts", "output/artifacts", "rag_storage")
_UNNAMED = frozenset({"", "output", "artifacts", "rag_storage"})

IMPORT_FORMATS = (AUTO, *_DETECTORS)
"""What may be asked for when an index of another system is read."""


def open_foreign(folder: Path, *, format: str = AUTO, name: str = "") -> ForeignIndex:  # noqa: A002
    """Read the index of another system in a folder, or in the usual folder below it.

    ``name`` is what it is called here, by default its project's folder. Raises UnknownName for an
    unknown format, IndexingError where nothing of that kind is found or a file is missing or
    broken, MissingExtra without the extra that its files need.
    """
    if format not in IMPORT_FORMATS:
        raise UnknownName("import format", format, IMPORT_FORMATS)
    if not folder.is_dir():
        raise IndexingError(
            f"`{folder}` is no folder.", fix="Give the folder that the other system wrote."
        )
    place, found = _locate(folder, format)
    name = " ".join(name.replace("/", " ").split()) or import_name(place)
    if found == graphrag.FORMAT:
        return graphrag.read_graphrag(place, name=name)
    return lightrag.read_lightrag(place, name=name)


def import_name(folder: Path) -> str:
    """Return what an index is called by its folder: the name of its project."""
    named = (part.name for part in (folder.absolute(), *folder.absolute().parents))
    return next((n for n in named if n not in _UNNAMED and not _is_time(n)), "index")


def _locate(folder: Path, wanted: str) -> tuple[Path, str]:
    runs = sorted((run for run in folder.glob("output/*/artifacts")), reverse=True)
    for place in (*(folder / part for part in _FOLDERS), *runs):
        for name, detect in _DETECTORS.items():
            if wanted in {AUTO, name} and detect(place):
                return place, name
    if wanted != AUTO:  # the reader says which of its files are missing
        return folder, wanted
    raise IndexingError(
        f"`{folder}` holds neither the tables of Microsoft GraphRAG nor a LightRAG index.",
        fix="Give the folder with `entities.parquet`, or with "
        f"`{lightrag.GRAPH}`, or name the --format to see what is missing.",
    )


def _is_time(name: str) -> bool:
    """Tell a folder of one run, 20240708-123456."""
    return name.replace("-", "").isdigit()
