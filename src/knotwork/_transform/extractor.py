"""The extractor protocol, and the registry of extractors. To add one, add an entry to `EXTRACTORS`.

An extractor turns each chunk of a document into its contributions to the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from knotwork._registry import PARTS, Entry, Registry, takes
from knotwork.errors import ConfigError
from knotwork.records import Chunk, Document, Extraction


class Extractor(Protocol):
    """Finds entities and relations.

    ``name`` identifies the result: it changes with anything that changes what is extracted.
    """

    name: str

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        """Return one extraction per leaf chunk of one document, in order.

        The result depends only on this document, so the order of indexing does not matter.
        """


EXTRACTORS: Registry[Extractor] = Registry(
    "extractors",
    (Entry("rules", "knotwork._transform.extractor:make_rules", "rules, no model"),),
    kind="extractor",
    protocol=Extractor,
)


def make_rules(*, dictionary: Path | None = None) -> Extractor:
    """Return the extractor by rules, with a user's dictionary of terms."""
    from knotwork._transform.rules import Dictionary, RuleExtractor

    return RuleExtractor(dictionary=Dictionary.read(dictionary) if dictionary else None)


def make_extractor(
    extractor: str | Extractor = "rules",
    *,
    dictionary: Path | None = None,
    recording: Path | None = None,
) -> Extractor:
    """Return the extractor itself, or the one of this name, with a user's dictionary of terms.

    The extractions of a ``recording`` made elsewhere are added to its results. Raises UnknownName
    for an unknown extractor, ConfigError if the dictionary or the recording cannot be read, or if
    the extractor takes no dictionary.
    """
    name = extractor if isinstance(extractor, str) else extractor.name
    if dictionary is not None and (
        name is not extractor or not takes(EXTRACTORS.load(name), "dictionary")
    ):
        raise ConfigError(
            f"The extractor `{name}` takes no dictionary, but `index.dictionary` is {dictionary}.",
            fix='Remove index.dictionary, or set index.extractor to "rules".',
        )
    if isinstance(extractor, str):
        extractor = EXTRACTORS.create(extractor, dictionary=dictionary)
    if recording is None:
        return extractor
    recorded: Extractor = PARTS.load("recorded_extractor")(recording, extractor)
    return recorded
