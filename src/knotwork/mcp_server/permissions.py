"""Permissions of MCP clients: read-only unless more is granted at start."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from knotwork.errors import ConfigError, IndexingError


@dataclass(frozen=True, slots=True)
class Permissions:
    """What a client of the server may do beside searching and reading.

    ``write`` lets it bring communities up to date, and index what lies in ``folders``; with
    ``use_llm`` questions may be answered by the language model of the settings, which may cost.
    """

    write: bool = False
    folders: tuple[Path, ...] = ()
    use_llm: bool = True

    def __post_init__(self) -> None:
        for folder in self.folders:
            if not folder.expanduser().is_dir():
                raise ConfigError(
                    f"`{folder}` is not a folder.", fix="Allow folders that are there."
                )
        if self.folders and not self.write:
            raise ConfigError(
                "Folders are allowed for indexing, but nothing may be written.",
                fix="Give --write, too, or leave --allow out.",
            )

    @property
    def may_index(self) -> bool:
        """Whether there is anything that may be indexed."""
        return self.write and bool(self.folders)

    def admit(self, paths: Sequence[str]) -> list[Path]:
        """Return where these paths lie, all folders that are allowed for none.

        One that is not absolute is looked for in each of the folders. Raises IndexingError for a
        path that is not there or leads, by links too, to a place outside of all folders; which of
        the two it is, is not told.
        """
        allowed = [Path(os.path.abspath(folder.expanduser())) for folder in self.folders]  # noqa: PTH100 - links are kept
        return [_resolve_allowed(path, allowed) for path in paths] if paths else allowed


def _resolve_allowed(path: str, allowed: Sequence[Path]) -> Path:
    """Return the place that a path means in one of the folders."""
    for folder in allowed:
        if "\0" in path:
            break
        place = Path(os.path.abspath(folder / path))  # noqa: PTH100 - links are kept
        real = Path(os.path.realpath(place))
        if real.is_relative_to(os.path.realpath(folder)) and os.path.lexists(place):
            return place
    listed = ", ".join(f"`{folder}`" for folder in allowed)
    raise IndexingError(
        f"`{path}` is not in a folder that may be indexed.", fix=f"These may: {listed}."
    )
