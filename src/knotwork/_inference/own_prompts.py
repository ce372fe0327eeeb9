"""Prompts of the user's own, which replace built-in ones.

They are read from the folder that ``prompts.dir`` names. A model that is opened for an index
carries them, and whoever asks it fills the prompts of `prompts_of` this model: they are part of the
request, and so of the key of its cached reply.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from knotwork._registry import PARTS
from knotwork.records import content_id

EXTRACTION = "extraction"
"""The name of the prompts of extraction, whose parts are the keys of one TOML file a language."""

_VERSION_DIGITS = 8


@dataclass(frozen=True)
class OwnPrompts:
    """The prompts of a folder, validated.

    ``texts`` are system and user messages with placeholders, by name and language; ``extraction``
    are parts of the prompts of extraction, by language and key. ``files`` are the file names.
    """

    folder: str = ""
    texts: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    extraction: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.texts or self.extraction)

    def __repr__(self) -> str:
        return f"OwnPrompts({self.version!r})"

    @cached_property
    def version(self) -> str:
        """Eight hexadecimal digits that change with any text; "" without prompts of one's own."""
        return self.version_of({name for name, _ in self.texts} | {EXTRACTION})

    def version_of(self, names: Collection[str], *, without: Collection[str] = ()) -> str:
        """Return the version of these prompts alone, without some keys of extraction."""
        parts = [repr(item) for item in sorted(self.texts.items()) if item[0][0] in names]
        if EXTRACTION in names:
            parts += [
                repr((language, key, text))
                for language, found in sorted(self.extraction.items())
                for key, text in sorted(found.items())
                if key not in without
            ]
        return content_id(*parts)[:_VERSION_DIGITS] if parts else ""


BUILT_IN = OwnPrompts()
"""No prompts of one's own."""


def prompts_of(model: object) -> OwnPrompts:
    """Return the prompts that requests to a model are made of: the built-in ones if it has none."""
    prompts = getattr(model, "prompts", None)
    return prompts if isinstance(prompts, OwnPrompts) else BUILT_IN


def read_prompt_folder(folder: str | Path) -> OwnPrompts:
    """Return the prompts of a folder; the built-in ones for an empty path.

    Raises ConfigError if the folder or a file cannot be read, UnknownName for a file that replaces
    nothing, and ConfigError for a prompt whose placeholders or keys are not those of the built-in
    one.
    """
    if not str(folder):
        return BUILT_IN
    own: OwnPrompts = PARTS.load("prompt_folder")(folder)
    return own
