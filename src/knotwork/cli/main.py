"""The entry point: one run of the command line, and what becomes of its errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from knotwork.cli.terminal import Terminal, join_lines
from knotwork.errors import KnotworkError

PROGRAM = "knotwork"

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; every error has been told to the user."""
    from knotwork.cli.app import app

    as_json = "--json" in arguments
    try:
        result = app.main(list(arguments), prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except KnotworkError as error:
        _raise_for_debugging(arguments)
        return _tell(error.code, error.message, error.fix, as_json, error.exit_code)
    except click.ClickException as error:
        message, fix = _explain_usage(error)
        code = "usage_error" if error.exit_code == EXIT_USAGE else "error"
        return _tell(code, message, fix, as_json, error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _tell("interrupted", "Interrupted.", "", as_json, EXIT_INTERRUPTED)
    except BrokenPipeError:
        _discard_output()
        return EXIT_FAILED
    except OSError as error:
        _raise_for_debugging(arguments)
        return _tell("os_error", _explain_os_error(error), "", as_json, EXIT_FAILED)
    return result if isinstance(result, int) else 0


def _tell(code: str, message: str, fix: str, as_json: bool, exit_code: int) -> int:
    """Tell an error to the user, as an object on standard output with --json."""
    terminal = Terminal(json=as_json)
    if as_json:
        terminal.emit({"error": {"code": code, "message": message, "fix": fix}})
    terminal.fail(join_lines(message), join_lines(fix))
    return exit_code


def _explain_usage(error: click.ClickException) -> tuple[str, str]:
    """Return the message of a wrong command line, and what to do."""
    context = getattr(error, "ctx", None)
    fix = f"See: {context.command_path} --help" if context else ""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return "Missing command.", fix
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        return error.message, f"Did you mean `{min(error.possibilities)}`?"
    return " ".join(error.format_message().split()), fix


def _explain_os_error(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"`{error.filename}`: {reason}." if error.filename else f"{reason}."


def _raise_for_debugging(arguments: Sequence[str]) -> None:
    """Raise the error being handled again when the user wants its traceback."""
    if "--debug" in arguments:
        import traceback

        traceback.print_exc()


def _discard_output() -> None:
    """Keep the interpreter from failing again when it flushes what nobody reads any more."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
