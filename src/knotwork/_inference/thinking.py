"""Strip a model's thinking (reasoning between tags) from its replies, whole or streamed."""

from __future__ import annotations

import re

_NAMES = r"(?:seed:)?(?:think|thinking|thought|reasoning)"
_OPENING = re.compile(rf"(?:^|(?<=\n))[ \t]*(?:<({_NAMES})>|\[(THINK)\])", re.IGNORECASE)
_CLOSING = re.compile(rf"</{_NAMES}>|\[/THINK\]", re.IGNORECASE)
_LONE_CLOSING = re.compile(rf"(?:{_CLOSING.pattern})[ \t]*(?=\n|\Z)", re.IGNORECASE)
_LONGEST_MEMORY = 8
_LONGEST_TAG = len("</seed:reasoning>")


def strip_thinking(text: str, *, cut_off: bool = False, begun: bool = False) -> str:
    """Return ``text`` without thinking and without leading white space.

    Thinking is the text between a tag such as <think> at the start of a line and its closing tag. A
    lone closing tag at the end of a line ends thinking that began in the prompt, as in the chat
    templates of some models. A tag that is never closed opens thinking if the text is ``cut_off``
    or begins with the tag; otherwise the text merely mentions it. ``begun`` is True for a model
    that usually begins its thinking in the prompt: text that is cut off before any closing tag is
    then all thinking.
    """
    if not _may_hold_tags(text):
        return "" if begun and cut_off else text.lstrip()
    stripper = ThinkingStripper(begun=begun)
    kept = stripper.feed(text) + stripper.finish(cut_off=cut_off)
    *_, last = [None, *_LONE_CLOSING.finditer(kept)]
    return kept[last.end() :].lstrip() if last else kept


def _may_hold_tags(text: str) -> bool:
    """Return True if a text contains a first character of a tag; most replies do not."""
    return "<" in text or "[" in text


class ThinkingHabit:
    """Learns whether a model usually begins its thinking in the prompt.

    A reply of such a model that is cut off while it thinks contains no tag at all. Thread-safe.
    """

    def __init__(self) -> None:
        self._balance = 0

    @property
    def begins_in_prompt(self) -> bool:
        """True if most of the recent replies began inside thinking."""
        return self._balance > 0

    def take_out(self, text: str, *, cut_off: bool = False) -> str:
        """Return the text as `strip_thinking` does, and learn from it."""
        if self._ends_lone(text, cut_off=cut_off):
            self._balance = min(self._balance + 1, _LONGEST_MEMORY)
        elif not cut_off:
            self._balance = max(self._balance - 1, -_LONGEST_MEMORY)
        return strip_thinking(text, cut_off=cut_off, begun=self.begins_in_prompt)

    def _ends_lone(self, text: str, *, cut_off: bool) -> bool:
        """Return True if thinking ends in a text without having begun there."""
        if not _may_hold_tags(text):
            return False
        stripper = ThinkingStripper()
        kept = stripper.feed(text) + stripper.finish(cut_off=cut_off)
        return bool(_LONE_CLOSING.search(kept))

    def stripper(self) -> ThinkingStripper:
        """Return a stripper for the pieces of a reply."""
        return ThinkingStripper(begun=self.begins_in_prompt)


class ThinkingStripper:
    """Strips thinking from a text that arrives in pieces, wherever they break.

    The results of `feed` and `finish` add up to what `strip_thinking` returns for the whole text,
    except for thinking that began in the prompt without ``begun``: that shows only when it ends.
    """

    def __init__(self, *, begun: bool = False) -> None:
        self._held = ""
        self._aside: list[str] = []
        self._begun = begun
        self._closing: re.Pattern[str] | None = _CLOSING if begun else None
        self._given = False
        self._at_line_start = self._drops_space = True

    def feed(self, piece: str) -> str:
        """Return the text that is now known not to be thinking and was not returned before."""
        self._held += piece
        given = ""
        while True:
            if self._closing is None:
                given += self._take_until_opening()
                if self._closing is None:
                    return given
            closed = self._closing.search(self._held)
            if closed is None:
                # Search only the end again: thinking may be long and its pieces small.
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
        if self._begun and not cut_off:  # this reply had no thinking after all
            return self._give(strip_thinking(rest))
        is_thinking = self._closing is not None and (cut_off or not self._given)
        return "" if is_thinking else self._give(rest)

    def _take_until_opening(self) -> str:
        """Return the text before the next opening tag, or all that cannot become one."""
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
        """Return how many of the last characters may still become an opening tag."""
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
