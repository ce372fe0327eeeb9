"""Permissions of the clients of an MCP server to index and to use the language model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from knotwork.errors import ConfigError, IndexingError


@dataclass(frozen=True, slots=True)
class Permissions:
    """What a client may do besides searching and reading.

    ``write`` allows updating communities, and indexing files in ``folders``. ``use_llm`` allows
    answering with the configured language model, which may cost money. Raises ConfigError for a
    folder that does not exist, or for ``folders`` without ``write``.
    """

    write: bool = False
    folders: tuple[Path, ...] = ()
    use_llm: bool = True

    def __post_init__(self) -> None:
        for folder in self.folders:
            if not folder.expanduser().is_dir():
                raise ConfigError(f"`{folder}` is not a folder.", fix="Allow existing folders.")
        if self.folders and not self.write:
            raise ConfigError(
                "Folders are allowed for indexing, but writing is not allowed.",
                fix="Add --write, or omit --allow.",
            )

    @property
    def may_index(self) -> bool:
        """Whether clients may index files."""
        return self.write and bool(self.folders)

    def admit(self, paths: Sequence[str]) -> list[Path]:
        """Return the absolute paths to index; all allowed folders if ``paths`` is empty.

        A relative path is searched in each of the allowed folders. Raises IndexingError for a path
        that does not exist or leads outside all of them, symbolic links included. The error does
        not say which, so clients cannot probe for files.
        """
        allowed = [Path(os.path.abspath(folder.expanduser())) for folder in self.folders]  # noqa: PTH100 - keeps links
        return [_resolve_allowed(path, allowed) for path in paths] if paths else allowed


def _resolve_allowed(path: str, allowed: Sequence[Path]) -> Path:
    """Return the absolute path of ``path`` within one of the allowed folders."""
    for folder in allowed:
        if "\0" in path:
            break
        absolute = Path(os.path.abspath(folder / path))  # noqa: PTH100 - keeps links
        target = Path(os.path.realpath(absolute))
        if target.is_relative_to(os.path.realpath(folder)) and os.path.lexists(absolute):
            return absolute
    listed = ", ".join(f"`{folder}`" for folder in allowed)
    raise IndexingError(
        f"`{path}` is not in a folder that may be indexed.", fix=f"Allowed folders: {listed}."
    )
