"""What one command works with: settings, the index, and where its output goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork.cli.terminal import Terminal
from knotwork.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    import logging

    from knotwork.config import Loaded, Settings
    from knotwork.knowledge_base import KnowledgeBase

_INDEX_FILES = ("-wal", "-shm", "")
"""What the names of the files of one index end with; the one that makes it an index goes last."""

COLORS = ("auto", "always", "never")


@dataclass(frozen=True, slots=True)
class Common:
    """The values of the common options; a false value means that it was not given."""

    store: str | None = None
    json: bool = False
    config: Path | None = None
    assignments: tuple[str, ...] = ()
    quiet: int = 0
    verbose: int = 0
    color: str | None = None
    no_progress: bool = False
    debug: bool = False

    def over(self, before: Common) -> Common:
        """Return these values, and those given before the command's name where these are not."""
        values = {
            item.name: getattr(self, item.name) or getattr(before, item.name)
            for item in fields(self)
        }
        values["assignments"] = (*before.assignments, *self.assignments)
        return Common(**values)


class Session:
    """The surroundings of one command. Settings are read and the index is opened on first use."""

    def __init__(self, common: Common) -> None:
        self.common = common
        check_choice("value of --color", common.color or "auto", COLORS)
        self.terminal = Terminal(
            color=common.color or "auto", json=common.json, quiet=common.quiet > 0
        )
        self._opened: list[KnowledgeBase] = []
        self._created: list[tuple[Path, KnowledgeBase]] = []
        self._handler = self._start_logging()

    @cached_property
    def loaded(self) -> Loaded:
        """The settings with their origins."""
        return self._load(())

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    def settings_with(self, assignments: Sequence[str]) -> Settings:
        """Return the settings with more of them set, as by `--set KEY=VALUE`.

        Raises as `parse_assignments`.
        """
        return self._load(assignments).settings

    def _load(self, assignments: Sequence[str]) -> Loaded:
        from knotwork.config import load_settings

        overrides = parse_assignments(self.common.assignments)
        if self.common.store is not None:
            overrides["store.path"] = self.common.store
        overrides |= parse_assignments(assignments)
        return load_settings(file=self.common.config, overrides=overrides)

    def open(self, *, read_only: bool = True) -> KnowledgeBase:
        """Open the index; it is closed with the session."""
        return self.open_at(self.settings.store.path, read_only=read_only)

    def open_to_ask(
        self,
        questions: Iterable[str],
        *,
        mode: str = "auto",
        use_llm: bool = True,
        settings: Settings | None = None,
    ) -> KnowledgeBase:
        """Open the index; to write, if a question needs reports that may have to be made first.

        ``settings`` replace those in force. Where the index cannot be written to, it is opened to
        read.
        """
        from knotwork.errors import StoreError
        from knotwork.inference.chat_registry import NO_CHAT_MODEL
        from knotwork.synthesis.asking import needs_reports

        used = settings or self.settings
        path = used.store.path
        opened = self.open_at(path, read_only=True, settings=used)
        if not any(needs_reports(question, mode) for question in questions):
            return opened
        has_model = used.llm.model != NO_CHAT_MODEL and use_llm
        if opened.has_communities and not has_model:
            return opened
        try:
            return self.open_at(path, read_only=False, settings=used)
        except StoreError:
            return opened

    def open_at(
        self, path: str | Path, *, read_only: bool, settings: Settings | None = None
    ) -> KnowledgeBase:
        """Open the index at a path; it is closed with the session."""
        from knotwork import knowledge_base

        is_new = not os.path.lexists(path)
        used = settings or self.settings
        opened = knowledge_base.open(str(path), settings=used, read_only=read_only)
        self._opened.append(opened)
        if is_new and Path(path).is_file():
            self._created.append((Path(path), opened))
        return opened

    def discard_created(self) -> None:
        """Remove the indexes that this session made and put nothing in."""
        while self._created:
            path, knowledge_base = self._created.pop()
            if not knowledge_base.documents():
                knowledge_base.close()
                for ending in _INDEX_FILES:
                    path.with_name(path.name + ending).unlink(missing_ok=True)

    def close(self) -> None:
        """Close what was opened."""
        while self._opened:
            self._opened.pop().close()
        import logging

        logging.getLogger("knotwork").removeHandler(self._handler)

    def _start_logging(self) -> logging.Handler:
        """Send the log to standard error: warnings, or more or less by -v and -q."""
        import logging

        log = logging.getLogger("knotwork")
        steps = 2 + self.common.quiet - self.common.verbose
        levels = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        log.addHandler(handler)
        log.setLevel(levels[min(max(steps, 0), 3)])
        return handler


def check_choice(kind: str, value: str, valid: Sequence[str]) -> str:
    """Return the value. Raises UnknownName when it is none of the valid ones."""
    if value not in valid:
        raise UnknownName(kind, value, valid)
    return value


def parse_assignments(assignments: Sequence[str]) -> dict[str, object]:
    """Return the overrides of `--set KEY=VALUE` options.

    Raises ConfigError for one without `=` or with a wrong value, UnknownName for an unknown key.
    """
    from knotwork.config.loading import ARGUMENT
    from knotwork.config.settings import setting_fields
    from knotwork.config.values import parse_variable

    known = {entry.name: entry for entry in setting_fields()}
    overrides: dict[str, object] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(
                f"`--set {assignment}` names no value.", fix="Write it as --set KEY=VALUE."
            )
        if name.strip() not in known:
            raise UnknownName("setting", name.strip(), known)
        overrides[name.strip()] = parse_variable(known[name.strip()], text, ARGUMENT)
    return overrides
