"""Run the command line: find the command, report errors, return the exit code.

The module of a command is imported only when that command runs.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from knotwork._cli.interruption import Terminated
from knotwork._cli.session import common_options, show_examples
from knotwork._cli.terminal import Terminal, printable_errors
from knotwork._registry import Entry, Registry, installed_plugins
from knotwork.errors import KnotworkError, UnknownName

PROGRAM = "knotwork"

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143

_GARBAGE_OBJECTS = 20_000
"""New objects after which Python looks for garbage: imports and indexing make many, and few of
them are in cycles."""

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SPACE_FIX = "Free some space, or write to another disk."
_BUG_FIX = "This is a bug in Knotwork. Run the command again with --debug and report the output."

_PLUGIN_FIX = "This is an error of the plugin `{plugin}`. Report it with the output of --debug."


def main() -> None:
    """Run the command line and exit the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(_GARBAGE_OBJECTS)
    sys.exit(run(sys.argv[1:]))


class CommandFailure(NamedTuple):
    """An error as reported to the user, and the exit code."""

    code: str
    message: str
    fix: str = ""
    exit_code: int = EXIT_FAILED


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Errors are reported, never raised."""
    with printable_errors():
        return _run(arguments)


def _run(arguments: Sequence[str]) -> int:
    try:
        result = app.main(list(arguments), prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return EXIT_FAILED
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  reported below
        if "--debug" in arguments:
            import traceback

            traceback.print_exc()
        return _report_failure(_describe_error(error), as_json="--json" in arguments)
    return result if isinstance(result, int) else 0


def _describe_error(error: BaseException) -> CommandFailure:
    """Return the message, fix and exit code of an error."""
    if isinstance(error, KnotworkError):
        return CommandFailure(error.code, error.message, error.fix, error.exit_code)
    if isinstance(error, click.ClickException):
        message, fix = _describe_usage_error(error)
        return CommandFailure("usage_error", message, fix, error.exit_code)
    if isinstance(error, Terminated):
        return CommandFailure("terminated", "Terminated.", exit_code=EXIT_TERMINATED)
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return CommandFailure("interrupted", "Interrupted.", exit_code=EXIT_INTERRUPTED)
    if isinstance(error, OSError):
        fix = _SPACE_FIX if error.errno in _NO_SPACE else ""
        return CommandFailure("os_error", _describe_os_error(error), fix)
    message = f"{type(error).__name__}: {error}"
    plugin = _plugin_that_raised(error)
    code, fix = ("plugin_error", _PLUGIN_FIX) if plugin else ("internal_error", _BUG_FIX)
    return CommandFailure(code, message, fix.format(plugin=plugin and plugin.origin))


def _plugin_that_raised(error: BaseException) -> Entry | None:
    """Return the plugin whose code raised an error, unless code of Knotwork did that it called."""
    plugins = {
        entry.target.partition(":")[0].partition(".")[0]: entry
        for entries in installed_plugins().values()
        for entry in entries
    }
    found = None
    trace = error.__traceback__
    while trace is not None:
        package = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        if package == PROGRAM or package in plugins:
            found = plugins.get(package)
        trace = trace.tb_next
    return found


def _report_failure(failure: CommandFailure, *, as_json: bool) -> int:
    """Print a failure on standard error, and with --json as an object on standard output."""
    terminal = Terminal(json=as_json)
    code, message, fix, _ = failure
    try:
        if as_json:
            terminal.emit({"error": {"code": code, "message": message, "fix": fix}})
        sys.stdout.flush()  # unwritten output is still buffered and may fail again
    except OSError:
        _discard_output()
    terminal.fail(failure.message, failure.fix)
    return failure.exit_code


def _describe_usage_error(error: click.ClickException) -> tuple[str, str]:
    """Return the message and the fix of a usage error."""
    context = getattr(error, "ctx", None)
    fix = f"See: {context.command_path} --help" if context else ""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return "Missing command.", fix
    if isinstance(error, click.NoSuchOption) and context:
        options = context.command.get_params(context)
        names = (name for option in options for name in (*option.opts, *option.secondary_opts))
        valid = [name for name in names if name.startswith("--")]
        unknown = UnknownName("option", error.option_name, valid, fix=fix)
        return unknown.message, unknown.fix
    return " ".join(error.format_message().split()), fix


def _describe_os_error(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"`{error.filename}`: {reason}." if error.filename else f"{reason}."


def _discard_output() -> None:
    """Redirect standard output to the null device, so that the flush at exit cannot fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


COMMANDS: Registry[click.Command] = Registry(
    "commands",
    Entry.read(
        """
init = knotwork._cli.commands.setup:init_command
    Create a settings file.
index = knotwork._cli.commands.index:index_command
    Index files and folders, or update what changed.
ask = knotwork._cli.commands.ask:ask_command
    Answer a question, with sources.
search = knotwork._cli.commands.ask:search_command
    Find passages.
retrievers = knotwork._cli.commands.ask:retrievers_command
    List the retrievers.
documents = knotwork._cli.commands.documents:documents_command
    List indexed documents and skipped files.
delete = knotwork._cli.commands.documents:delete_command
    Remove documents from the index.
config = knotwork._cli.commands.setup:config_command
    Show the settings in force.
completion = knotwork._cli.commands.setup:completion_command
    Print or install shell completion.
"""
    ),
    kind="command",
    protocol=None,
)
"""The commands, each with its summary, in the order of the help; extensions and plugins follow."""

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 80}


class CommandGroup(click.Group):
    """The commands in `COMMANDS`, each imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [entry.name for entry in COMMANDS.found()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = COMMANDS.load(cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (entry.name, entry.summary or f"From {entry.origin}.")
                    for entry in COMMANDS.found()
                ]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownName("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings=CONTEXT_SETTINGS,
    epilog=show_examples(
        "knotwork demo                        try it on bundled documents",
        "knotwork index ~/papers              index a folder",
        'knotwork ask "Who approves travel?"  get an answer with its sources',
        ending="",
    ),
)
@click.option("--version", is_flag=True, help="Print the version.")
@click.pass_context
def app(ctx: click.Context, /, *, version: bool) -> None:
    """Get cited answers from your own documents. Options may come anywhere."""
    if version:
        from knotwork import __version__

        click.echo(f"knotwork {__version__}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


app.params += common_options(hidden=())
