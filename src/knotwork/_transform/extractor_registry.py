"""The registry of extractors. To add one, add an entry to `EXTRACTORS`."""

from __future__ import annotations

from pathlib import Path

from knotwork._registry import Entry, Registry, takes
from knotwork._transform.extractor import Extractor
from knotwork._transform.rules import Dictionary, RuleExtractor
from knotwork.errors import ConfigError

EXTRACTORS: Registry[Extractor] = Registry(
    "extractors",
    (Entry("rules", "knotwork._transform.extractor_registry:make_rules", "rules, no model"),),
    kind="extractor",
    protocol=Extractor,
)


def make_rules(*, dictionary: Path | None = None) -> RuleExtractor:
    """Return the extractor by rules, with a user's dictionary of terms."""
    return RuleExtractor(dictionary=Dictionary.read(dictionary) if dictionary else None)


def make_extractor(
    name: str = "rules", *, dictionary: Path | None = None, recording: Path | None = None
) -> Extractor:
    """Return the extractor of this name, with a user's dictionary of terms.

    The extractions of a ``recording`` made elsewhere are added to its results. Raises UnknownName
    for an unknown extractor, ConfigError if the dictionary or the recording cannot be read, or if
    the extractor takes no dictionary.
    """
    if dictionary is not None and not takes(EXTRACTORS.load(name), "dictionary"):
        raise ConfigError(
            f"The extractor `{name}` takes no dictionary, but `index.dictionary` is {dictionary}.",
            fix='Remove index.dictionary, or set index.extractor to "rules".',
        )
    extractor = EXTRACTORS.create(name, dictionary=dictionary)
    if recording is None:
        return extractor
    from knotwork._transform.model.recorded_extractor import RecordedExtractor, Recording

    return RecordedExtractor(Recording.read(recording), rules=extractor)
