"""Entry point of the command line: the command tree, exit codes and error messages.

The module of a command is imported when the command is named, not before.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from knotwork.cli.session import common_options, show_examples, take_common
from knotwork.cli.terminal import Terminal, join_lines
from knotwork.errors import KnotworkError, UnknownName

PROGRAM = "knotwork"

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SPACE_FIX = "Free some space, or write to another place."
_FAULT_FIX = "This is a fault of Knotwork. Run it again with --debug, and report what it prints."


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


class CommandFailure(NamedTuple):
    """What is told of an error, and the exit code."""

    code: str
    message: str
    fix: str = ""
    exit_code: int = EXIT_FAILED


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; every error has been told to the user."""
    try:
        result = app.main(list(arguments), prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return EXIT_FAILED
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  told, and shown by --debug
        if "--debug" in arguments:
            import traceback

            traceback.print_exc()
        return _report_failure(_describe_error(error), as_json="--json" in arguments)
    return result if isinstance(result, int) else 0


def _describe_error(error: BaseException) -> CommandFailure:
    """Return what to tell of an error."""
    if isinstance(error, KnotworkError):
        return CommandFailure(error.code, error.message, error.fix, error.exit_code)
    if isinstance(error, click.ClickException):
        message, fix = _describe_usage_error(error)
        return CommandFailure("usage_error", message, fix, error.exit_code)
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return CommandFailure("interrupted", "Interrupted.", exit_code=EXIT_INTERRUPTED)
    if isinstance(error, OSError):
        fix = _SPACE_FIX if error.errno in _NO_SPACE else ""
        return CommandFailure("os_error", _describe_os_error(error), fix)
    return CommandFailure("internal_error", f"{type(error).__name__}: {error}", _FAULT_FIX)


def _report_failure(failure: CommandFailure, *, as_json: bool) -> int:
    """Tell a failure to the user, as an object on standard output with --json."""
    terminal = Terminal(json=as_json)
    code, message, fix, _ = failure
    try:
        if as_json:
            terminal.emit({"error": {"code": code, "message": message, "fix": fix}})
        sys.stdout.flush()  # what could not be written is still there to fail again
    except OSError:
        _discard_output()
    terminal.fail(join_lines(failure.message), join_lines(failure.fix))
    return failure.exit_code


def _describe_usage_error(error: click.ClickException) -> tuple[str, str]:
    """Return the message of a wrong command line, and what to do."""
    context = getattr(error, "ctx", None)
    fix = f"See: {context.command_path} --help" if context else ""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return "Missing command.", fix
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        from difflib import get_close_matches

        nearest = get_close_matches(error.option_name, error.possibilities, n=1, cutoff=0.0)
        return error.message, f"Did you mean `{nearest[0]}`?"
    return " ".join(error.format_message().split()), fix


def _describe_os_error(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"`{error.filename}`: {reason}." if error.filename else f"{reason}."


def _discard_output() -> None:
    """Keep the interpreter from failing again when it flushes what nobody reads any more."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


COMMANDS = {
    "demo": ("demo", "Index a bundled sample and answer three questions."),
    "init": ("setup", "Write a settings file to edit."),
    "index": ("index", "Index files and folders, or what changed in them."),
    "embed": ("index", "Embed the index again, with another model."),
    "import": ("index", "Bring in an index of GraphRAG or LightRAG."),
    "ask": ("ask", "Answer a question, with the sources."),
    "chat": ("chat", "Ask one question after another, and state facts to remember."),
    "search": ("search", "Find passages."),
    "agent": ("ask", "Answer a question step by step."),
    "retrievers": ("search", "List the ways to find passages."),
    "explore": ("explore", "Walk the knowledge graph from names."),
    "cypher": ("explore", "Run a read-only Cypher statement on a graph."),
    "communities": ("explore", "Show what the documents are about as a whole."),
    "graph": ("graph", "Count or export the knowledge graph, join names."),
    "schema": ("schema", "Propose, infer or show what a language model extracts."),
    "tables": ("tables", "Keep tables beside the index, and ask them by SQL."),
    "memory": ("chat", "Show and delete facts stated in conversations."),
    "documents": ("documents", "List what is in the index, and what was skipped."),
    "delete": ("documents", "Remove documents from the index."),
    "eval": ("evaluate", "Measure answers, or retrievers, on known questions."),
    "serve": ("serve", "Answer people and programs over HTTP."),
    "keys": ("serve", "Say who may ask a server, and for what."),
    "train": ("train", "Train a ranker of paths on questions."),
    "mcp": ("serve", "Serve the index to assistants (MCP)."),
    "doctor": ("setup", "Check installation, settings, index and embedder."),
    "config": ("setup", "Show the settings in force."),
    "completion": ("setup", "Complete commands and options in your shell."),
}
"""The module and the summary of each command, in the order of the help."""

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 80}


class CommandGroup(click.Group):
    """The commands of `COMMANDS`, each loaded on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"knotwork.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownName("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings=CONTEXT_SETTINGS,
    epilog=show_examples(
        "knotwork demo                        see it work, in a minute",
        "knotwork index ~/papers              index a folder",
        'knotwork ask "Who approves travel?"  an answer with its sources',
        ending="",
    ),
)
@click.option("--version", is_flag=True, help="Print the version.")
@common_options(hidden=False)
@click.pass_context
def app(ctx: click.Context, /, *, version: bool, **arguments: Any) -> None:  # noqa: ANN401
    """Ask your own documents; answers cite the passage. Options may come anywhere."""
    ctx.obj = take_common(arguments)
    if version:
        from knotwork import __version__

        click.echo(f"knotwork {__version__}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
