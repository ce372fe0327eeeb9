"""Strip a model's thinking from its replies, whole or streamed."""

from __future__ import annotations

import re

_NAMES = r"(?:seed:)?(?:think|thinking|thought|reasoning)"
_OPENING = re.compile(rf"(?:^|(?<=\n))[ \t]*(?:<({_NAMES})>|\[(THINK)\])", re.IGNORECASE)
_CLOSING = re.compile(rf"</{_NAMES}>|\[/THINK\]", re.IGNORECASE)
_LONE_CLOSING = re.compile(rf"(?:{_CLOSING.pattern})[ \t]*(?=\n|\Z)", re.IGNORECASE)
_LONGEST_MEMORY = 8
_LONGEST_TAG = len("</seed:reasoning>")


def strip_thinking(text: str, *, cut_off: bool = False, begun: bool = False) -> str:
    """Return ``text`` without the thinking in it, and without white space before the rest.

    Thinking stands between a tag such as <think> at the start of a line and its closing tag. A
    closing tag at the end of a line without an opening one ends thinking that began in the prompt,
    as the templates of some models have it. A tag that is never closed opens thinking where the
    text is ``cut_off`` or nothing stands before it; elsewhere the text only speaks of the tag.
    ``begun`` says that the model is known to begin its thinking in the prompt: a text that is cut
    off before any closing tag is then all thinking.
    """
    if not _may_hold_tags(text):
        return "" if begun and cut_off else text.lstrip()
    stripper = ThinkingStripper(begun=begun)
    kept = stripper.feed(text) + stripper.finish(cut_off=cut_off)
    *_, last = [None, *_LONE_CLOSING.finditer(kept)]
    return kept[last.end() :].lstrip() if last else kept


def _may_hold_tags(text: str) -> bool:
    """Tell whether a text holds what every tag begins with; most replies do not."""
    return "<" in text or "[" in text


class ThinkingHabit:
    """Remembers of a model whether its thinking mostly begins in the prompt.

    Such a reply, cut off while it thinks, has no tag at all. Safe to use from many threads.
    """

    def __init__(self) -> None:
        self._balance = 0

    @property
    def begins_in_prompt(self) -> bool:
        """Whether more of the late replies than not began in thinking."""
        return self._balance > 0

    def take_out(self, text: str, *, cut_off: bool = False) -> str:
        """Return what `strip_thinking` does, and learn from the text."""
        if self._ends_lone(text, cut_off=cut_off):
            self._balance = min(self._balance + 1, _LONGEST_MEMORY)
        elif not cut_off:
            self._balance = max(self._balance - 1, -_LONGEST_MEMORY)
        return strip_thinking(text, cut_off=cut_off, begun=self.begins_in_prompt)

    def _ends_lone(self, text: str, *, cut_off: bool) -> bool:
        """Tell whether thinking ends in a text that did not begin in it."""
        if not _may_hold_tags(text):
            return False
        stripper = ThinkingStripper()
        kept = stripper.feed(text) + stripper.finish(cut_off=cut_off)
        return bool(_LONE_CLOSING.search(kept))

    def stripper(self) -> ThinkingStripper:
        """Return a stripper for the pieces of a reply."""
        return ThinkingStripper(begun=self.begins_in_prompt)


class ThinkingStripper:
    """Takes the thinking out of a text that comes in pieces, wherever they break.

    What `feed` and `finish` return adds up to what `strip_thinking` returns of the whole, but for
    thinking that began in the prompt without ``begun``: it is known as such only when it ends.
    """

    def __init__(self, *, begun: bool = False) -> None:
        self._held = ""
        self._aside: list[str] = []
        self._begun = begun
        self._closing: re.Pattern[str] | None = _CLOSING if begun else None
        self._given = False
        self._at_line_start = self._drops_space = True

    def feed(self, piece: str) -> str:
        """Return what of the text so far is certain to be no thinking, and was not returned yet."""
        self._held += piece
        given = ""
        while True:
            if self._closing is None:
                given += self._take_until_opening()
                if self._closing is None:
                    return given
            closed = self._closing.search(self._held)
            if closed is None:
                # Only the end is searched again: thinking may be long, and its pieces small.
                self._aside.append(self._held[:-_LONGEST_TAG])
                self._held = self._held[-_LONGEST_TAG:]
                return given
            self._held = self._held[closed.end() :]
            self._aside.clear()
            self._closing = None
            self._begun = False
            self._drops_space = self._at_line_start = True

    def finish(self, *, cut_off: bool = False) -> str:
        """Return the rest, at the end of the text."""
        rest = "".join(self._aside) + self._held
        self._held = ""
        self._aside.clear()
        if self._begun and not cut_off:  # for once it did not think
            return self._give(strip_thinking(rest))
        is_thinking = self._closing is not None and (cut_off or not self._given)
        return "" if is_thinking else self._give(rest)

    def _take_until_opening(self) -> str:
        """Return what stands before the next opening tag, or may not become one."""
        if self._drops_space:
            self._held = self._held.lstrip()
            self._drops_space = not self._held
        for found in _OPENING.finditer(self._held):
            if found.start() == 0 and not self._at_line_start:
                continue
            name = found.group(1)
            closing = f"</{re.escape(name)}>" if name else r"\[/THINK\]"
            self._closing = re.compile(closing, re.IGNORECASE)
            return self._take(found.start())
        return self._take(len(self._held) - self._open_end())

    def _open_end(self) -> int:
        """Return how many of the last characters may yet become an opening tag."""
        start = self._held.rfind("\n") + 1
        if start == 0 and not self._at_line_start:
            return 0
        line = self._held[start:]
        tag = line.lstrip(" \t")
        may_open = not tag or (tag[0] in "<[" and len(tag) < _LONGEST_TAG)
        return len(line) if may_open else 0

    def _take(self, count: int) -> str:
        text, self._held = self._held[:count], self._held[count:]
        return self._give(text)

    def _give(self, text: str) -> str:
        if text:
            self._at_line_start = text.endswith("\n")
            self._given = self._given or not text.isspace()
        return text
