"""Create extractors by name. To add one, add an entry to `EXTRACTORS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from knotwork._transform.extractor import Extractor
from knotwork._transform.rules import Dictionary, RuleExtractor
from knotwork.errors import UnknownName


def _make_rules(dictionary: Path | None) -> Extractor:
    return RuleExtractor(dictionary=Dictionary.read(dictionary) if dictionary else None)


EXTRACTORS: Mapping[str, Callable[[Path | None], Extractor]] = {"rules": _make_rules}


def make_extractor(
    name: str = "rules", *, dictionary: Path | None = None, recording: Path | None = None
) -> Extractor:
    """Return the extractor of this name, with a user's dictionary of terms.

    The extractions of a ``recording`` made elsewhere are added to its results. Raises UnknownName
    for an unknown extractor, ConfigError if the dictionary or the recording cannot be read.
    """
    if name not in EXTRACTORS:
        raise UnknownName("extractor", name, EXTRACTORS)
    extractor = EXTRACTORS[name](dictionary)
    if recording is None:
        return extractor
    from knotwork._transform.model.recorded_extractor import RecordedExtractor, Recording

    return RecordedExtractor(Recording.read(recording), rules=extractor)
