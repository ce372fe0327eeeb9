"""The entry point: one run of the command line, and what becomes of its errors."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from knotwork.cli.terminal import Terminal, join_lines
from knotwork.errors import KnotworkError

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


class Failure(NamedTuple):
    """What is told of an error, and the exit code."""

    code: str
    message: str
    fix: str = ""
    exit_code: int = EXIT_FAILED


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; every error has been told to the user."""
    from knotwork.cli.app import app

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
        return _tell(_explain(error), as_json="--json" in arguments)
    return result if isinstance(result, int) else 0


def _explain(error: BaseException) -> Failure:
    """Return what to tell of an error."""
    if isinstance(error, KnotworkError):
        return Failure(error.code, error.message, error.fix, error.exit_code)
    if isinstance(error, click.ClickException):
        message, fix = _explain_usage(error)
        return Failure("usage_error", message, fix, error.exit_code)
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return Failure("interrupted", "Interrupted.", exit_code=EXIT_INTERRUPTED)
    if isinstance(error, OSError):
        fix = _SPACE_FIX if error.errno in _NO_SPACE else ""
        return Failure("os_error", _explain_os_error(error), fix)
    return Failure("internal_error", f"{type(error).__name__}: {error}", _FAULT_FIX)


def _tell(failure: Failure, *, as_json: bool) -> int:
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


def _explain_usage(error: click.ClickException) -> tuple[str, str]:
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


def _explain_os_error(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"`{error.filename}`: {reason}." if error.filename else f"{reason}."


def _discard_output() -> None:
    """Keep the interpreter from failing again when it flushes what nobody reads any more."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
