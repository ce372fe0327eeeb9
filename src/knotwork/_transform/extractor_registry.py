"""The registry of extractors. To add one, add an entry to `EXTRACTORS`."""

from __future__ import annotations

from pathlib import Path

from knotwork._registry import PARTS, Entry, Registry, takes
from knotwork._transform.extractor import Extractor
from knotwork.errors import ConfigError

EXTRACTORS: Registry[Extractor] = Registry(
    "extractors",
    (Entry("rules", "knotwork._transform.extractor_registry:make_rules", "rules, no model"),),
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
