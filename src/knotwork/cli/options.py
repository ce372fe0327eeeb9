"""The options of every command, declared once.

A command is a function whose first argument is a `Session`. `with_session` adds the common options
to it and makes the session from them and from those given before the command's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from knotwork.cli.session import COLORS, Common, Session
from knotwork.errors import KnotworkError

CommandFunction = Callable[..., None]
Decorator = Callable[[CommandFunction], CommandFunction]
Completion = Callable[[click.Context, click.Parameter, str], list[str]]

_NAMES = tuple(Common.__dataclass_fields__)


def complete_from(values: Iterable[str]) -> Completion:
    """Return what offers the values that begin with what was typed, in a shell."""

    def complete(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        return [value for value in values if value.startswith(typed)]

    return complete


def complete_retrievers(
    _context: click.Context, _parameter: click.Parameter, typed: str
) -> list[str]:
    """Return the retrievers that begin with what was typed, in a shell."""
    from knotwork.retrieval.registry import retriever_names

    return [name for name in retriever_names() if name.startswith(typed)]


def complete_modes(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Return the modes that begin with what was typed, in a shell."""
    from knotwork.synthesis.modes import ASK_MODES

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
            session = Session(given.over(before) if isinstance(before, Common) else given)
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
        root.obj = given.over(root.obj) if isinstance(root.obj, Common) else given
        function(**arguments)

    return common_options(hidden=True, hides_store=True, hides_json=True)(run)


def take_common(arguments: dict[str, Any]) -> Common:
    """Take the common options out of a command's arguments."""
    return Common(**{name: arguments.pop(name) for name in _NAMES})
