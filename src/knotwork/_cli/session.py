"""Options that commands share, and the session that a command runs in.

A command is a function whose first argument is a `Session`: the settings, the index and the
terminal. `command` adds the common options to it, and creates the session from these and from the
options before the command's name.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from knotwork._cli.interruption import stop_on_signals
from knotwork._cli.terminal import Terminal
from knotwork._shapes.base import fields_of
from knotwork.errors import ConfigError, KnotworkError, UnknownName

if TYPE_CHECKING:
    import logging

    from knotwork._cli.progress import ProgressView
    from knotwork._cli.terminal import Payload
    from knotwork._cli.views import Part
    from knotwork._config import Loaded, Settings
    from knotwork._knowledge_base import KnowledgeBase
    from knotwork._run import Progress, Run
    from knotwork.records import PropertyValue


_INDEX_FILES = ("-wal", "-shm", "")
"""Suffixes of the files of an index, in the order of deletion: the index itself is the last."""

COLORS = ("auto", "always", "never")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """The values of the common options. A false value means that the option was not given."""

    store: str | None = None
    json: bool = False
    config: Path | None = None
    assignments: tuple[str, ...] = ()
    quiet: int = 0
    verbose: int = 0
    color: str | None = None
    no_progress: bool = False
    debug: bool = False


class Session:
    """The options, terminal, settings and index of one command, loaded on first use."""

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

    def emit(self, payload: Payload) -> bool:
        """Print a JSON object if --json was given, and return whether it was."""
        if self.common.json:
            self.terminal.emit(payload)
        return self.common.json

    def show(self, payload: Payload, *view: Part, **beside: object) -> None:
        """Print a JSON object if --json was given, else as a view of it and of fields beside it."""
        if not self.emit(payload):
            given = payload if isinstance(payload, Mapping) else fields_of(payload)
            self.terminal.show({**given, **beside}, *view)

    def progress(self, wanted: str = "auto", *, has_lines: bool = False) -> ProgressView:
        """Return a view of work in progress; ``has_lines`` shows lines if there is no bar."""
        from knotwork._cli.progress import ProgressView

        hidden = self.common.no_progress
        return ProgressView(self.terminal, wanted, hidden=hidden, has_lines=has_lines)

    def follow(
        self,
        run: Run[T],
        label: Callable[[Progress], str] = lambda step: step.stage,
        *,
        has_lines: bool = False,
    ) -> T:
        """Show the progress of a run under the labels of its steps, and return its result."""
        with self.progress(has_lines=has_lines and not self.common.json) as view:
            for step in run:
                view.count(label(step), step.done, step.total)
            return run.result()

    def settings_with(self, assignments: Sequence[str]) -> Settings:
        """Return the settings with further `KEY=VALUE` assignments.

        Raises ConfigError and UnknownName like `parse_assignments`.
        """
        return self._load(assignments).settings

    def _load(self, assignments: Sequence[str]) -> Loaded:
        from knotwork._config import load_settings

        overrides = parse_assignments(self.common.assignments)
        if self.common.store is not None:
            overrides["store.path"] = self.common.store
        overrides |= parse_assignments(assignments)
        return load_settings(file=self.common.config, overrides=overrides)

    def open(self, *, read_only: bool = True) -> KnowledgeBase:
        """Open the index until the session closes."""
        return self.open_at(self.settings.store.path, read_only=read_only)

    def open_existing(self) -> KnowledgeBase:
        """Open the index for writing until the session closes. Raises StoreNotFound without one."""
        self.open()  # opening it for writing would create it
        return self.open(read_only=False)

    def open_to_ask(self, settings: Settings | None = None) -> KnowledgeBase:
        """Open the index read-only. Only a question that needs new reports opens it for writing.

        ``settings`` replace those in force.
        """
        used = settings or self.settings
        opened = self.open_at(used.store.path, read_only=True, settings=used)
        opened.open_to_write = cache(
            lambda: self.open_at(used.store.path, read_only=False, settings=used).store
        )
        return opened

    def open_at(
        self, path: str | Path, *, read_only: bool, settings: Settings | None = None
    ) -> KnowledgeBase:
        """Open the index at a path until the session closes."""
        from knotwork._knowledge_base import open as open_index

        is_new = not os.path.lexists(path)
        used = settings or self.settings
        opened = open_index(str(path), settings=used, read_only=read_only)
        self._opened.append(opened)
        if is_new and Path(path).is_file():
            self._created.append((Path(path), opened))
        return opened

    def discard_created(self) -> None:
        """Delete the indexes that this session created and left empty."""
        while self._created:
            path, knowledge_base = self._created.pop()
            if not knowledge_base.documents():
                knowledge_base.close()
                for ending in _INDEX_FILES:
                    path.with_name(path.name + ending).unlink(missing_ok=True)

    def close(self) -> None:
        """Close every index that was opened, and stop logging."""
        while self._opened:
            self._opened.pop().close()
        import logging

        logging.getLogger("knotwork").removeHandler(self._handler)

    def _start_logging(self) -> logging.Handler:
        """Log to standard error: warnings by default, more with -v, less with -q."""
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
    """Return the value. Raises UnknownName if it is not one of the valid ones."""
    if value not in valid:
        raise UnknownName(kind, value, valid)
    return value


def check_new(path: Path, *, overwrites: bool) -> None:
    """Raise ConfigError if a file to write exists, unless it may be overwritten."""
    if path.exists() and not overwrites:
        raise ConfigError(
            f"`{path}` exists already.", fix="Replace it with --force, or give another path."
        )


def parse_assignments(assignments: Sequence[str]) -> dict[str, object]:
    """Return the values of `--set KEY=VALUE` options by the name of the setting.

    Raises ConfigError if `=` is missing or a value is invalid, UnknownName for an unknown setting.
    """
    from knotwork._config.loading import ARGUMENT, parse_variable
    from knotwork._config.settings import named_settings

    known = named_settings()
    overrides: dict[str, object] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(
                f"The setting `{assignment}` has no value.", fix="Write it as KEY=VALUE."
            )
        if name.strip() not in known:
            raise UnknownName("setting", name.strip(), known)
        overrides[name.strip()] = parse_variable(known[name.strip()], text, ARGUMENT)
    return overrides


CommandFunction = Callable[..., None]
Decorator = Callable[[CommandFunction], CommandFunction]
Completion = Callable[[click.Context, click.Parameter, str], list[str]]


def complete_from(values: Callable[[], Iterable[str]]) -> Completion:
    """Return a function that completes these values in a shell."""

    def complete(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        return [value for value in values() if value.startswith(typed)]

    return complete


def choice_option(
    *names: str,
    valid: Sequence[str] | Callable[[], Sequence[str]],
    kind: str = "",
    **attributes: Any,  # noqa: ANN401  those of `click.option`
) -> Decorator:
    """Return an option whose ``valid`` values a shell completes; a function finds them when needed.

    Another value raises UnknownName if ``kind`` says what the values are.
    """

    def values() -> Sequence[str]:
        return valid() if callable(valid) else valid

    def check(
        _context: click.Context, _parameter: click.Parameter, given: str | None
    ) -> str | None:
        return given if given is None or not kind else check_choice(kind, given, values())

    return click.option(*names, shell_complete=complete_from(values), callback=check, **attributes)


def number_option(
    *names: str,
    help: str,  # noqa: A002
    default: int | None = None,
    least: int = 1,
    most: int | None = None,
) -> Decorator:
    """Return an option for a whole number from ``least`` to ``most``."""
    return click.option(
        *names,
        metavar="N",
        type=click.IntRange(least, most),
        default=default,
        show_default=default is not None,
        help=help,
    )


def text_option(*names: str, help: str, metavar: str = "NAME") -> Decorator:  # noqa: A002
    """Return an option for a text, which is empty by default."""
    return click.option(*names, metavar=metavar, default="", help=help)


def without_option(name: str, what: str, *, help: str) -> Decorator:  # noqa: A002
    """Return a flag that makes the argument ``what`` False, which is True by default."""
    return click.option(name, what, flag_value=False, default=True, help=help)


def path_option(*names: str, help: str, metavar: str = "FILE") -> Decorator:  # noqa: A002
    """Return an option for the path of a file or folder."""
    return click.option(*names, metavar=metavar, type=click.Path(path_type=Path), help=help)


def _retriever_names() -> Sequence[str]:
    from knotwork._retrieval.retriever_registry import retriever_names

    return retriever_names()


def _ask_modes() -> Sequence[str]:
    from knotwork._synthesis.ask_request import ASK_MODES

    return tuple(ASK_MODES)


_CYPHER_SUFFIXES = (".cypher", ".cql")


def _read_statement(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> str | None:
    """Return a Cypher statement, read from a file if ``given`` is one word or ends in .cypher or
    .cql.

    Raises ConfigError if the file cannot be read.
    """
    if given is None or (len(given.split()) > 1 and not given.endswith(_CYPHER_SUFFIXES)):
        return given
    try:
        return Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"Cannot read a Cypher statement from the file `{given}`: {reason}.",
            fix="Give the path of a UTF-8 text file, or the statement itself in quotes.",
        ) from None


def read_parameter(text: str) -> tuple[str, PropertyValue]:
    """Return the name of a parameter and its value, parsed as JSON if possible, else as text.

    Raises ConfigError if `=` or the name is missing.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"`--param {text}` is not NAME=VALUE.", fix="Write it as --param n=Ada.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _read_parameters(
    _context: click.Context, _parameter: click.Parameter, given: Sequence[str]
) -> dict[str, PropertyValue]:
    return dict(map(read_parameter, given))


RETRIEVER_OPTION = choice_option(
    "--retriever",
    metavar="NAME",
    valid=_retriever_names,
    help="Retriever, such as auto, hybrid or bm25. See: knotwork retrievers",
)
WHERE_OPTION = click.option(
    "--where",
    "filters",
    metavar="FILTER",
    multiple=True,
    help="""Search only matching documents: "author = 'Ann' and date >= 2023". """
    "For the fields see: knotwork documents --fields",
)
MIN_SCORE_OPTION = click.option(
    "--min-score", metavar="SCORE", type=float, help="Drop passages with a lower score."
)
PARAMETER_OPTION = click.option(
    "--param",
    "query_params",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_read_parameters,
    help="Value of $NAME, as JSON or as text. May be repeated.",
)

ROW_LIMIT_OPTION = number_option("--limit", default=100, least=0, help="Maximum number of rows.")
STATEMENT_TIMEOUT_OPTION = click.option(
    "--timeout",
    "timeout_s",
    metavar="S",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Time limit in seconds.",
)
RETRIEVAL_QUERY_OPTION = click.option(
    "--retrieval-query",
    metavar="CYPHER",
    callback=_read_statement,
    help="Cypher statement, or a file with one, to run on each passage found (`node`, `score`).",
)
MODE_OPTION = choice_option(
    "--mode",
    metavar="NAME",
    default="auto",
    valid=_ask_modes,
    help="auto, basic, local, global, map-reduce, hybrid or drift.",
)


_COMMON = "knotwork.common"
"""The key of the common options that were given, in what the contexts of a run share."""

_COMMON_OPTIONS: tuple[tuple[list[str], dict[str, Any]], ...] = (
    (
        ["--store"],
        {
            "metavar": "FILE",
            "type": click.Path(),
            "help": "Index file or URL. [env: KNOTWORK_STORE_PATH]",
        },
    ),
    (["--json"], {"is_flag": True, "help": "Print one JSON object on standard output."}),
    (
        ["--config"],
        {
            "metavar": "FILE",
            "type": click.Path(path_type=Path),
            "help": "Settings file. [env: KNOTWORK_CONFIG]",
        },
    ),
    (
        ["--set", "assignments"],
        {
            "metavar": "KEY=VALUE",
            "multiple": True,
            "help": "Change a setting, such as index.chunk_tokens=300.",
        },
    ),
    (["-q", "--quiet"], {"count": True, "help": "Print fewer notes."}),
    (["-v", "--verbose"], {"count": True, "help": "Log more; -vv logs everything."}),
    (
        ["--color"],
        {
            "metavar": "WHEN",
            "shell_complete": complete_from(lambda: COLORS),
            "help": "auto, always or never. [env: NO_COLOR]",
        },
    ),
    (["--no-progress"], {"is_flag": True, "help": "Hide progress bars."}),
    (["--debug"], {"is_flag": True, "help": "Show the traceback of an error."}),
)


def common_options(hidden: Sequence[str]) -> list[click.Parameter]:
    """Return the common options, of which the ``hidden`` ones are not in the help."""
    return [
        click.Option(
            names, **given, hidden=names[-1] in hidden, expose_value=False, callback=_keep_common
        )
        for names, given in _COMMON_OPTIONS
    ]


def _keep_common(context: click.Context, parameter: click.Parameter, value: Any) -> None:  # noqa: ANN401
    """Keep a common option for the session: one further right counts, assignments add up."""
    given, name = context.meta.setdefault(_COMMON, {}), parameter.name
    if value:
        given[name] = (*given.get(name, ()), *value) if parameter.multiple else value


RARE_OPTIONS = tuple(names[-1] for names, _ in _COMMON_OPTIONS[2:])


def command(
    name: str | None = None,
    short_help: str | None = None,
    group: click.Group | None = None,
    hides_store: bool = False,
    handles_signals: bool = False,
) -> Callable[[CommandFunction], click.Command]:
    """Make a function a command, which gets a `Session` created from the common options.

    Its docstring is its help, with examples after ``$``. ``group`` gets it as a subcommand.
    ``hides_store`` keeps --store out of the help of a command that needs no index. Ctrl-C and
    SIGTERM stop the work of the command (`stop_on_signals`), unless it ``handles_signals`` itself.
    """

    def decorate(function: CommandFunction) -> click.Command:
        @wraps(function)
        def run(**arguments: Any) -> None:  # noqa: ANN401
            context = click.get_current_context()
            session = Session(CommonOptions(**context.meta[_COMMON]))
            context.call_on_close(session.close)
            try:
                with nullcontext() if handles_signals else stop_on_signals():
                    function(session, **arguments)
            except KnotworkError:
                session.discard_created()
                raise

        text, epilog = _read_help(function)
        made = click.command(name, help=text, epilog=epilog, short_help=short_help)(run)
        made.params += common_options((*RARE_OPTIONS, "--store" if hides_store else ""))
        if group is not None:
            group.add_command(made)
        return made

    return decorate


def command_group() -> Callable[[CommandFunction], click.Group]:
    """Make a function a group of commands, which accepts the common options on their behalf."""

    def decorate(function: CommandFunction) -> click.Group:
        text, epilog = _read_help(function)
        made = click.group(help=text, epilog=epilog)(function)
        made.params += common_options((*RARE_OPTIONS, "--store", "--json"))
        return made

    return decorate


def _read_help(function: CommandFunction) -> tuple[str, str | None]:
    """Return the help in the docstring of a command, and the epilog with its examples."""
    lines = (inspect.getdoc(function) or "").splitlines()
    examples = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    text = "\n".join(line for line in lines if not line.startswith("$ ")).strip()
    return text, show_examples(*examples) if examples else None


OTHER_OPTIONS = "Also --config, --set, -q, -v, --color, --no-progress, --debug (knotwork -h)."


def show_examples(*lines: str, ending: str = OTHER_OPTIONS) -> str:
    """Return the epilog of a command's help: its examples and a closing line."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines), "", ending])
