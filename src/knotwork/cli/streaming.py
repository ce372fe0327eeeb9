"""An answer while a language model writes it: who is asked, then the words as they come."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from knotwork.cli.terminal import Terminal, join_lines, make_printable
from knotwork.synthesis.events import AskEvent, AskEventKind


class StreamedText:
    """Writes a text that grows to standard output, in the lines that it would have when whole."""

    def __init__(self, terminal: Terminal) -> None:
        self._out = terminal.out
        self._text = ""
        self._written = ""

    def add(self, piece: str) -> None:
        """Write what of the text so far will stay where it is: its last word may yet grow."""
        from knotwork.cli.wrapping import settled_length

        self._text += piece
        shown = make_printable(self._text).expandtabs()
        self._write(shown[: settled_length(shown)])

    def end(self) -> None:
        """Write the rest, and end the line; does nothing to a text that never began."""
        if self._text:
            self._write(make_printable(self._text).expandtabs())
            self._out.file.write("\n")
            self._out.file.flush()
            self._text = self._written = ""

    def _write(self, text: str) -> None:
        from knotwork.cli.wrapping import wrap_text

        wrapped = "\n".join(wrap_text(text, self._out.width))
        self._out.file.write(wrapped[len(self._written) :])
        self._out.file.flush()
        self._written = wrapped


class AnswerView:
    """Shows the events of one question while it is open.

    The name of the model stands on standard error while somebody watches that; the words go to
    standard output if that is a terminal, else they are left to whoever prints the answer.
    ``has_shown_answer`` says that all of the answer's text is there.
    """

    def __init__(self, terminal: Terminal, *, hidden: bool) -> None:
        self._terminal = terminal
        self._has_status = terminal.is_interactive and not hidden and not terminal.quiet
        self._streams = not terminal.json and terminal.out.is_terminal
        self._status = ExitStack()
        self._text = StreamedText(terminal)
        self.has_shown_answer = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._status.close()
        self._text.end()

    def _show_status(self, label: str) -> None:
        if self._has_status:
            self._status.close()
            self._status.enter_context(self._terminal.err.status(label))

    def show(self, event: AskEvent) -> None:
        """Show the next step."""
        if event.kind is AskEventKind.ASKED:
            self._show_status(f"Asking {join_lines(event.text)}")
        elif event.kind is AskEventKind.STEP:
            self._show_status(f"{describe_step(event)} …")
        elif event.kind is AskEventKind.TEXT and self._streams:
            self._status.close()
            self._text.add(event.text)
            self.has_shown_answer = True
        elif event.kind is AskEventKind.WITHDRAWN:
            self._status.close()
            self._text.end()
            if self.has_shown_answer:
                self._terminal.say(
                    "(This text is withdrawn; the answer follows.)\n", style="yellow"
                )
            self.has_shown_answer = False


def describe_step(event: AskEvent) -> str:
    """Return a step before the answer in words, with how far it is."""
    name = join_lines(event.text).capitalize()
    return f"{name}, {event.done} of {event.total}" if event.total > 1 else name
