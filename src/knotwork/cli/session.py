"""Options and session of every command.

A command is a function whose first argument is a `Session`: settings, the index and the terminal.
`with_session` adds the common options to the command and makes the session from them and from
those given before the command's name.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knotwork.cli.terminal import Terminal
from knotwork.errors import ConfigError, KnotworkError, UnknownName

if TYPE_CHECKING:
    import logging

    from knotwork.config import Loaded, Settings
    from knotwork.knowledge_base import KnowledgeBase
    from knotwork.records import PropertyValue


_INDEX_FILES = ("-wal", "-shm", "")
"""What the names of the files of one index end with; the one that makes it an index goes last."""

COLORS = ("auto", "always", "never")


@dataclass(frozen=True, slots=True)
class CommonOptions:
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

    def over(self, before: CommonOptions) -> CommonOptions:
        """Return these values, and those given before the command's name where these are not."""
        values = {
            item.name: getattr(self, item.name) or getattr(before, item.name)
            for item in fields(self)
        }
        values["assignments"] = (*before.assignments, *self.assignments)
        return CommonOptions(**values)


class Session:
    """The surroundings of one command. Settings are read and the index is opened on first use."""

    def __init__(self, common: CommonOptions) -> None:
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
        from knotwork.inference.model_registry import NO_CHAT_MODEL
        from knotwork.synthesis.engine import needs_reports

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
    from knotwork.config.loading import ARGUMENT, parse_variable
    from knotwork.config.settings import setting_fields

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


CommandFunction = Callable[..., None]
Decorator = Callable[[CommandFunction], CommandFunction]
Completion = Callable[[click.Context, click.Parameter, str], list[str]]

_COMMON_NAMES = tuple(CommonOptions.__dataclass_fields__)


def complete_from(values: Iterable[str]) -> Completion:
    """Return what offers the values that begin with what was typed, in a shell."""

    def complete(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        return [value for value in values if value.startswith(typed)]

    return complete


def complete_retrievers(
    _context: click.Context, _parameter: click.Parameter, typed: str
) -> list[str]:
    """Return the retrievers that begin with what was typed, in a shell."""
    from knotwork.retrieval.retriever_registry import retriever_names

    return [name for name in retriever_names() if name.startswith(typed)]


def complete_modes(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Return the modes that begin with what was typed, in a shell."""
    from knotwork.synthesis.ask_request import ASK_MODES

    return [name for name in ASK_MODES if name.startswith(typed)]


RETRIEVER_OPTION = click.option(
    "--retriever",
    metavar="NAME",
    shell_complete=complete_retrievers,
    help="How passages are found, as auto, hybrid or bm25.",
)
WHERE_OPTION = click.option(
    "--where",
    "filters",
    metavar="FILTER",
    multiple=True,
    help="""Only what fulfils it, as "author = 'Ann' and date >= 2023"; """
    "fields: documents --fields.",
)
MIN_SCORE_OPTION = click.option(
    "--min-score", metavar="SCORE", type=float, help="Only passages that score at least this."
)
PARAMETER_OPTION = click.option(
    "--param",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="A value for $NAME: JSON, or else text. May be repeated.",
)
RETRIEVAL_QUERY_OPTION = click.option(
    "--retrieval-query",
    metavar="CYPHER",
    help="Cypher over the passages found, from `node` and `score`: a statement, or a file of one.",
)
MODE_OPTION = click.option(
    "--mode",
    metavar="NAME",
    default="auto",
    shell_complete=complete_modes,
    help="auto, basic, local, global, map-reduce, hybrid or drift.",
)


def common_options(
    *, hidden: bool, hides_store: bool = False, hides_json: bool = False
) -> Decorator:
    """Add the common options to a command; ``hidden`` keeps the rarer ones out of its help."""
    options = (
        click.option(
            "--store",
            metavar="FILE",
            type=click.Path(),
            help="The index. [env: KNOTWORK_STORE_PATH]",
            hidden=hides_store,
        ),
        click.option(
            "--json",
            is_flag=True,
            help="Print one JSON object on standard output.",
            hidden=hides_json,
        ),
        click.option(
            "--config",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Settings file. [env: KNOTWORK_CONFIG]",
            hidden=hidden,
        ),
        click.option(
            "--set",
            "assignments",
            metavar="KEY=VALUE",
            multiple=True,
            help="Set one setting, as index.chunk_tokens=300.",
            hidden=hidden,
        ),
        click.option("-q", "--quiet", count=True, help="Less on standard error.", hidden=hidden),
        click.option("-v", "--verbose", count=True, help="More; -vv: all.", hidden=hidden),
        click.option(
            "--color",
            metavar="WHEN",
            shell_complete=complete_from(COLORS),
            help="auto, always or never. [env: NO_COLOR]",
            hidden=hidden,
        ),
        click.option("--no-progress", is_flag=True, help="Show no progress.", hidden=hidden),
        click.option(
            "--debug", is_flag=True, help="Show the traceback of an error.", hidden=hidden
        ),
    )

    def decorate(function: CommandFunction) -> CommandFunction:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def with_session(*, hides_store: bool = False) -> Decorator:
    """Give a command the common options, and call it with the session they make.

    ``hides_store`` keeps --store out of the help of a command that works without an index.
    """

    def decorate(function: CommandFunction) -> CommandFunction:
        @wraps(function)
        def run(**arguments: Any) -> None:  # noqa: ANN401
            context = click.get_current_context()
            given = take_common(arguments)
            before = context.find_root().obj
            session = Session(given.over(before) if isinstance(before, CommonOptions) else given)
            context.call_on_close(session.close)
            try:
                function(session, **arguments)
            except KnotworkError:
                session.discard_created()
                raise

        return common_options(hidden=True, hides_store=hides_store)(run)

    return decorate


def keep_common(function: CommandFunction) -> CommandFunction:
    """Let a group of commands take the common options too, for the command named after it."""

    @wraps(function)
    def run(**arguments: Any) -> None:  # noqa: ANN401
        root = click.get_current_context().find_root()
        given = take_common(arguments)
        root.obj = given.over(root.obj) if isinstance(root.obj, CommonOptions) else given
        function(**arguments)

    return common_options(hidden=True, hides_store=True, hides_json=True)(run)


def take_common(arguments: dict[str, Any]) -> CommonOptions:
    """Take the common options out of a command's arguments."""
    return CommonOptions(**{name: arguments.pop(name) for name in _COMMON_NAMES})


_CYPHER_SUFFIXES = (".cypher", ".cql")


def read_statement(given: str | None) -> str | None:
    """Return a statement, or what the file says whose path is given: one word, or *.cypher.

    Raises ConfigError for a file that cannot be read.
    """
    if given is None or (len(given.split()) > 1 and not given.endswith(_CYPHER_SUFFIXES)):
        return given
    try:
        return Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"`{given}` cannot be read as a file with a statement: {reason}.",
            fix="Give the path of a text file (UTF-8), or the statement itself in quotes.",
        ) from None


def read_parameters(given: Iterable[str]) -> dict[str, PropertyValue]:
    """Return parameters by name; raises as `read_parameter`."""
    return dict(read_parameter(text) for text in given)


def read_parameter(text: str) -> tuple[str, PropertyValue]:
    """Return the name and the value of a parameter: JSON, or else text.

    Raises ConfigError for one without a name or a value.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"`{text}` gives no parameter a value.", fix="Write it as --param n=Ada.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


OTHER_OPTIONS = "Also --config, --set, -q, -v, --color, --no-progress, --debug (knotwork -h)."


def show_examples(*lines: str, ending: str = OTHER_OPTIONS) -> str:
    """Return what stands below the options in a command's help."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines), "", ending])
